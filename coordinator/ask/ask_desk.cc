#include "coordinator/ask/ask_desk.h"

#include <fmt/format.h>

#include "coordinator/ask/exchange.h"
#include "shared/base/canonical_json.h"
#include "shared/base/limits.h"
#include "shared/journal/segment.h"
#include "shared/kernel/fold.h"
#include "shared/kinds/ask/evolve.h"

namespace acl::coordinator {

namespace {

constexpr std::size_t kMostProjectsKept = 64;  // whose artifacts are kept in memory; they are read anew when they are needed

// One of the asks under way, for as long as it is there.
class Place {
 public:
  explicit Place(std::atomic<int>& count) : count_(count), taken_(count.fetch_add(1) < AskDesk::kMostAtOnce) {}
  ~Place() { count_.fetch_sub(1); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  bool taken() const { return taken_; }

 private:
  std::atomic<int>& count_;
  const bool taken_;
};

aegis::Sanitizer SanitizerOf(const AskSetup* setup, Random& random) {
  if (setup != nullptr) return setup->sanitizer;
  std::string key;
  while (key.size() < 32) key += char(random.Next() & 0xff);
  auto made = aegis::Sanitizer::Make(aegis::RuleSet::Standard(), {}, std::move(key));
  ACL_CHECK(made, "a key of 32 bytes is long enough");
  return std::move(*made);
}

}  // namespace

AskDesk::AskDesk(Dependencies parts, std::unique_ptr<AskSetup> setup)
    : parts_(std::move(parts)),
      setup_(std::move(setup)),
      sanitizer_(SanitizerOf(setup_.get(), parts_.random)),
      asks_(parts_.store, parts_.queries, parts_.ask_kind, parts_.ids),
      ledgers_(parts_.store, parts_.queries, parts_.ledger_kind, parts_.ids) {}

// Somebody else may have made it: that is as good.
Status AskDesk::MakeSubject(const CommandKind& kind, const SubjectId& id, const ProjectId& project, const char* queue, EventDraft first) {
  Document state;
  CreateItem item;
  item.subject = id;
  item.project = project;
  item.kind = std::string(kind.Name());
  item.queue = queue;
  item.make_ready = false;
  item.request_hash = CanonicalHash(first.facts);
  auto event = FoldDraft(kind, state, std::move(first));
  if (!event) return event.error();
  event->subject = id;
  event->seq = 1;
  item.events.push_back(std::move(*event));
  item.state_root = state.Root();
  auto made = parts_.store.Create({&item, 1});
  const bool there = !made && (made.code() == Code::kConflict || made.code() == Code::kDenied) && parts_.queries.GetSubject(id);
  return made || there ? Status() : Status(made.error());
}

Status AskDesk::EnsureLedger(const ProjectId& project, const std::string& by) {
  {
    std::lock_guard lock(mutex_);
    if (has_ledger_.contains(project)) return {};
  }
  const SubjectId id = ledger::LedgerOf(project);
  const auto there = parts_.queries.GetSubject(id);
  if (!there && there.code() != Code::kNotFound) return there.error();
  if (!there) {
    Status made = MakeSubject(parts_.ledger_kind, id, project, ledger::kLedgerQueue, ledger::Created(by, parts_.clock.Wall()));
    if (!made) return made;
  }
  std::lock_guard lock(mutex_);
  has_ledger_.insert(project);
  return {};
}

std::shared_ptr<AskArtifacts> AskDesk::ArtifactsOf(const ProjectId& project) {
  std::lock_guard lock(mutex_);
  if (!artifacts_.contains(project) && artifacts_.size() >= kMostProjectsKept) artifacts_.clear();
  auto& artifacts = artifacts_[project];
  if (!artifacts) {
    const auto finds = [this](std::string_view text) -> std::optional<std::string> {
      const auto clean = setup_->sanitizer.Sanitize(text);
      if (!clean) return "unreadable";
      return clean->cut.empty() ? std::nullopt : std::optional(clean->cut.front().kind);
    };
    artifacts = std::make_shared<AskArtifacts>(project, parts_.rows, ledgers_, parts_.projects, finds);
  }
  return artifacts;
}

Result<CommandAnswer> AskDesk::Command(CommandService& commands, const SubjectId& subject, Json command,
                                       const std::optional<std::string>& key) {
  CommandAsked asked{std::move(command), key, {}};
  asked.hash = CanonicalHash(asked.command);
  auto reply = commands.Execute(subject, std::move(asked));
  if (!reply) return reply.error();
  if (reply->key_conflict)
    return Error{Code::kInvalid, "this Idempotency-Key was used for another command: take a new one for each command"};
  return ReadAnswer(reply->answer);
}

// A secret that a person names is stored as little as one that a model names. What is too long is refused by who decides the command.
void AskDesk::SanitizeWords(Json* command) const {
  for (const char* member : {"claim", "source", "subject", "reason"}) {
    const auto found = command->find(member);
    if (found == command->end() || !found->is_string()) continue;
    if (auto clean = sanitizer_.Sanitize(found->get_ref<const std::string&>())) *found = std::move(clean->text);
  }
}

Result<CommandAnswer> AskDesk::Ledger(const ProjectId& project, Json command, const std::optional<std::string>& key) {
  if (Status there = EnsureLedger(project, command.value("by", "")); !there) return there.error();
  SanitizeWords(&command);
  return Command(ledgers_, ledger::LedgerOf(project), std::move(command), key);
}

Result<CommandAnswer> AskDesk::Session(const SubjectId& session, Json command, const std::optional<std::string>& key) {
  SanitizeWords(&command);
  return Command(asks_, session, std::move(command), key);
}

Result<Document> AskDesk::ReadLedger(const ProjectId& project) {
  auto read = ledgers_.Read(ledger::LedgerOf(project));
  if (!read && read.code() == Code::kNotFound) return Document();
  if (!read) return read.error();
  return std::move(read->state);
}

Result<std::vector<ask::Intent>> AskDesk::Intents(const ProjectId& project, int most_sessions) {
  auto sessions = parts_.rows.SessionsWithIntents(project, most_sessions);
  if (!sessions) return sessions.error();
  std::vector<ask::Intent> all;
  for (const SubjectId& session : *sessions) {
    auto read = asks_.Read(session);
    if (!read) return read.error();
    for (ask::Intent& intent : ask::Intents(read->state)) all.push_back(std::move(intent));
  }
  return all;
}

// Its id begins with that of its exchange, which says the session.
Result<ask::Intent> AskDesk::Intent(const ProjectId& project, const std::string& intent_id) {
  const Error none{Code::kNotFound, "there is no intent " + intent_id.substr(0, 100) + " in this project"};
  auto row = parts_.rows.Exchange(project, intent_id.substr(0, intent_id.find('.')));
  if (!row) return row.code() == Code::kNotFound ? none : row.error();
  const auto session = SubjectId::Parse(row->value("session_id", ""));
  if (!session) return none;
  auto read = asks_.Read(*session);
  if (!read) return read.error();
  auto intent = ask::FindIntent(read->state, intent_id);
  return intent ? Result<ask::Intent>(std::move(*intent)) : Result<ask::Intent>(none);
}

Result<Json> AskDesk::Recorded(const SubjectId& session, const std::string& exchange_id) {
  constexpr int kPage = 100;
  std::int64_t after = 0;
  std::string dropped;
  while (true) {
    auto page = parts_.queries.Events(session, after, kPage, limits::kPageBytes);
    if (!page) return page.error();
    if (page->empty()) {
      return Error{Code::kNotFound, "the journal of the session has no exchange " + exchange_id + (dropped.empty() ? "" : "; " + dropped)};
    }
    if (dropped.empty()) dropped = DroppedText(session, after, page->front().seq);
    for (const Event& event : *page) {
      after = event.seq;
      if (event.type != ask::events::kPrepared) continue;
      std::string text;
      if (event.payload) {
        text = *event.payload;
      } else if (event.offloaded) {
        auto content = parts_.store.GetContent(event.content_hash);
        if (!content) return content.error();
        text = std::move(*content);
      } else {
        continue;  // its content was removed
      }
      auto facts = ParseJson(text, kStoredJson);
      if (facts && facts->value("exchange_id", "") == exchange_id) return std::move(*facts);
    }
  }
}

std::variant<Json, AskRefusal> AskDesk::Ask(const AskAsked& asked) {
  if (!setup_)
    return AskRefusal{"not-configured",
                      "this coordinator asks no language model: name a kernel (aegis_kernel_file) and providers "
                      "(aegis_providers_file); docs/guides/aegis.md",
                      409};
  if (stopping_)
    return AskRefusal{"stopping", "this coordinator is stopping and asks nobody any more: ask another, or again in a moment", 503};
  const Place place(under_way_);
  if (!place.taken())
    return AskRefusal{"busy",
                      fmt::format("{} asks are under way in this coordinator, the most at once: try again in a moment", kMostAtOnce), 503};
  return Exchange(*this, asked).Run();
}

}  // namespace acl::coordinator
