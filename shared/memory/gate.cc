#include "shared/memory/gate.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "shared/aegis/sanitize/find_secret.h"
#include "shared/kinds/project/forms.h"
#include "shared/memory/copied_text.h"
#include "shared/memory/phrases.h"
#include "shared/memory/plain_text.h"

namespace acl::memory {
namespace {

using project::Work;

constexpr std::size_t kQuotedBytes = 80;
constexpr const char* kTellTheTask = "tell the task (start_task, block_task, complete_task); learn what stays true when the work is over";

std::string Quoted(std::string_view text) {
  std::size_t size = std::min(text.size(), kQuotedBytes);
  while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return fmt::format("'{}{}'", text.substr(0, size), size < text.size() ? " ..." : "");
}

// "t3.large" and "db.t3" are names of other things.
bool IsPartOfName(std::string_view text, const Word& word) {
  const auto letter = [&](std::size_t at) {
    return at < text.size() && ((text[at] >= 'a' && text[at] <= 'z') || (text[at] >= '0' && text[at] <= '9'));
  };
  const bool before = word.begin >= 2 && text[word.begin - 1] == '.' && letter(word.begin - 2);
  return before || (word.end < text.size() && text[word.end] == '.' && letter(word.end + 1));
}

// What a reference to something of the system points at, spelled as the gate reads texts; empty: anybody may know it.
std::string PointedAt(const std::string& reference) {
  const auto kind = project::KindOfReference(reference);
  if (kind == "url" || kind == "memory") return "";
  return PlainText(std::string_view(reference).substr(kind.size() + 1));
}

std::optional<std::string> FindWorkId(const std::string& plain, const Work& work) {
  for (const Word& word : Words(plain)) {
    if ((work.tasks.contains(word.text) || work.goals.contains(word.text)) && !IsPartOfName(plain, word)) return word.text;
  }
  static const RE2 spelled(
      R"((\b(?:(?:sub)?tasks?|goals?|checkpoints?) (?:no\.? |number |id )?#?[tg]?\d+\b|\b(?:task|goal|run|event):\S+))", RE2::Quiet);
  static const RE2 made_here(R"((\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b))", RE2::Quiet);
  std::string found;
  if (RE2::PartialMatch(plain, spelled, &found) || RE2::PartialMatch(plain, made_here, &found)) return found;
  for (const auto& [task, checkpoint] : work.checkpoints) {
    for (const auto& reference : checkpoint.context_refs) {
      const std::string target = PointedAt(reference);
      if (target.size() >= 7 && plain.find(target) != std::string::npos) return target;  // shorter ones (t1) were found as words
    }
  }
  return std::nullopt;
}

// A sentence that names a task or goal by its title and has a word for where it stands.
std::optional<std::string> FindNamedStatus(const std::string& plain, const Work& work) {
  static const RE2 status(
      R"(\b(?:to ?do|doing|blocked|done|active|paused|in progress|pending|started|finished|completed?|open|reopened|withdrawn|claimed)\b)",
      RE2::Quiet);
  for (const auto& sentence : Sentences(plain)) {
    if (!RE2::PartialMatch(sentence, status)) continue;
    const Shingles said(sentence);
    const auto is_named = [&](const std::string& title) {
      const std::string name = PlainText(title);
      if (said.AnyIn(name)) {
        const Shingles shingles(name);
        if (!shingles.is_short() && shingles.PartIn(said) >= kCopied) return true;
      }
      return name.find(' ') != std::string::npos && sentence.find(name) != std::string::npos;  // one word alone says nothing of its own
    };
    for (const auto& [id, task] : work.tasks) {
      if (is_named(task.title)) return sentence;
    }
    for (const auto& [id, goal] : work.goals) {
      if (is_named(goal.text)) return sentence;
    }
  }
  return std::nullopt;
}

// Every text that says where a task's work is.
template <class See>
bool AnyText(const Work& work, const See& see) {
  const auto any = [&](const std::vector<std::string>& texts) { return std::any_of(texts.begin(), texts.end(), see); };
  for (const auto& [id, point] : work.checkpoints) {
    if (see(point.where_we_left_off) || see(point.next_step) || any(point.blockers) || any(point.tried) || any(point.pending)) return true;
  }
  for (const auto& [id, task] : work.tasks) {
    if (std::any_of(task.blockers.begin(), task.blockers.end(), [&](const auto& blocker) { return see(blocker.text); })) return true;
  }
  return false;
}

// A sentence of one of the two texts that stands in the other.
std::optional<std::string> FindCopy(const std::string& plain, const Work& work) {
  const Shingles whole(plain);
  std::vector<std::pair<std::string, Shingles>> said;
  for (auto& sentence : Sentences(plain)) {
    Shingles shingles(sentence);
    said.emplace_back(std::move(sentence), std::move(shingles));
  }
  std::optional<std::string> copy;
  (void)AnyText(work, [&](const std::string& text) {
    const std::string kept = PlainText(text);
    if (kept.empty()) return false;
    if (kept == plain) copy = kept;
    if (!whole.AnyIn(kept)) return copy.has_value();
    for (const auto& sentence : Sentences(kept)) {
      const Shingles shingles(sentence);
      if (!shingles.is_short() && shingles.PartIn(whole) >= kCopied) copy = sentence;
    }
    const Shingles all(kept);
    for (const auto& [sentence, shingles] : said) {
      if (!shingles.is_short() && shingles.PartIn(all) >= kCopied) copy = sentence;
    }
    return copy.has_value();
  });
  return copy;
}

std::optional<Refusal> CheckContent(const std::string& text, const Work& work) {
  // First, so that nothing below quotes one.
  if (const auto secret = aegis::FindSecret(CleanText(text))) {
    return Refusal{"SECRET", "the text holds what looks like " + *secret,
                   "write where it is kept (\"the key is in the vault under billing\"), and change it if it is real"};
  }
  const std::string plain = PlainText(text);
  if (const auto id = FindWorkId(plain, work)) {
    return Refusal{"WORK_ID", Quoted(*id) + " names a task, goal or run, which means nothing outside its project",
                   "write what is true without it; if it is something else here, spell it another way"};
  }
  if (const auto copy = FindCopy(plain, work)) {
    return Refusal{"CHECKPOINT", Quoted(*copy) + " stands in a checkpoint or a blocker of the project",
                   "it is kept there (update_checkpoint); write the lasting rule behind it in words of its own"};
  }
  if (const auto named = FindNamedStatus(plain, work)) {
    return Refusal{"STATUS", Quoted(*named) + " names a task or goal by its title and says where it stands", kTellTheTask};
  }
  for (const auto& sentence : Sentences(plain)) {
    const auto phrase = FindWorkPhrase(sentence);
    if (!phrase) continue;
    if (phrase->reason == "STATUS") {
      return Refusal{"STATUS", Quoted(phrase->words) + " says where work stands", kTellTheTask};
    }
    return Refusal{std::string(phrase->reason), Quoted(phrase->words) + " says how far work is or what comes next",
                   "keep it with the task (update_checkpoint); learn what stays true when the work is over"};
  }
  return std::nullopt;
}

Refusal BadForm(std::string found, std::string instead) { return {"FORM", std::move(found), std::move(instead)}; }

}  // namespace

std::optional<Refusal> CheckLearning(const Learning& learning, const Work& work) {
  if (!KindOf(learning.type)) {
    return Refusal{"TYPE", fmt::format("type: {} is nothing that is learned", Quoted(learning.type)),
                   "write preference, decision or fact; status, progress and checkpoints belong to the task (update_checkpoint)"};
  }
  if (learning.source.project.is_nil() || learning.source.event_seq < 1) {
    return Refusal{"SOURCE", "source: no event is named", "name the project and the sequence (1 or more) of the event it comes from"};
  }
  if (const Status form = project::CheckText("text", learning.text, kMostLearningBytes); !form) {
    return BadForm(form.error().message, "write one paragraph that can be read alone");
  }
  if (auto refusal = CheckContent(learning.text, work)) return refusal;
  const char* const lasting =
      "learn it when it has become a rule, and say it without the day; until then it belongs to the task (update_checkpoint)";
  if (learning.valid_for && *learning.valid_for < kShortestValidity) {
    return Refusal{"SHORT_LIVED", fmt::format("valid_for: {} s are less than a day", learning.valid_for->count()), lasting};
  }
  for (const auto& sentence : Sentences(PlainText(learning.text))) {
    if (const auto phrase = FindShortValidity(sentence))
      return Refusal{"SHORT_LIVED", Quoted(phrase->words) + " says that it holds for less than a day", lasting};
  }
  return std::nullopt;
}

std::optional<Refusal> CheckQuery(const Query& query, const Work& work) {
  if (query.most < 1 || query.most > kMostResults)
    return BadForm(fmt::format("most: {} results", query.most), fmt::format("ask for 1 to {}", kMostResults));
  if (const Status form = project::CheckText("text", query.text, kMostQueryBytes); !form)
    return BadForm(form.error().message, "ask for one thing, in a few words");
  return CheckContent(query.text, work);
}

std::variant<Passed<Learning>, Refusal> PassLearning(Learning learning, const Work& work) {
  if (auto refusal = CheckLearning(learning, work)) return *std::move(refusal);
  return Passed<Learning>(std::move(learning));
}

std::variant<Passed<Query>, Refusal> PassQuery(Query query, const Work& work) {
  if (auto refusal = CheckQuery(query, work)) return *std::move(refusal);
  return Passed<Query>(std::move(query));
}

}  // namespace acl::memory
