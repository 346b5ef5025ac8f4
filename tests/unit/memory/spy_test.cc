// A memory that keeps every byte it gets. Nothing of a project's state may be among them, whatever is asked and learned.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <set>

#include "shared/memory/http_memory.h"
#include "shared/memory/memory.h"
#include "tests/support/small_server.h"
#include "tests/unit/memory/billing_project.h"
#include "tests/unit/memory/corpus.h"

namespace acl::memory {
namespace {

constexpr const char* kStatusWords[] = {"todo", "doing", "blocked", "done"};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

// Runs of letters, digits, '_', dots within ("t3.large") and whatever is beyond ASCII; of its own, not the gate's.
std::vector<std::string> SpyWords(const std::string& given) {
  const std::string text = Lower(given);
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto is_letter = [](char d) {
      return std::isalnum(static_cast<unsigned char>(d)) != 0 || d == '_' || (static_cast<unsigned char>(d) & 0x80) != 0;
    };
    const bool letter = is_letter(c) || (c == '.' && i + 1 < text.size() && is_letter(text[i + 1]) && !words.back().empty());
    if (letter) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

class Spy {
 public:
  Spy()
      : server_([](const std::string& request) {
          return SmallServer::Answer("200 OK", request.starts_with("POST /v1/search") ? R"({"results":[]})" : "{}");
        }) {}

  std::string Url() const { return server_.Url(""); }
  std::size_t requests() { return server_.requests().size(); }

  // What of the project's state stands in the bytes it got: an id of a task or goal, a run's id, the whole of a text that says where work
  // is (five words of one in a row), a status beside a task's title, a secret.
  std::vector<std::string> Leaks(const project::Work& work, const std::vector<std::string>& secrets) {
    std::vector<std::string> leaks;
    const std::set<std::string> pieces = PiecesOf(work);
    for (const std::string& request : server_.requests()) {
      for (const auto& secret : secrets) {
        if (request.find(secret) != std::string::npos) leaks.push_back("secret: " + secret);
      }
      if (Lower(request).find(test::kRun) != std::string::npos) leaks.push_back("run: " + test::kRun);
      const auto words = SpyWords(request);
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (work.tasks.contains(words[i]) || work.goals.contains(words[i])) leaks.push_back("id: " + words[i]);
        if (i + 5 <= words.size() && pieces.contains(Piece(words, i))) leaks.push_back("checkpoint: " + Piece(words, i));
      }
      for (const auto& [id, task] : work.tasks) {
        if (Lower(request).find(Lower(task.title)) == std::string::npos) continue;
        for (const char* status : kStatusWords) {
          if (std::find(words.begin(), words.end(), status) != words.end())
            leaks.push_back(fmt::format("status: {} {}", task.title, status));
        }
      }
    }
    return leaks;
  }

 private:
  static std::string Piece(const std::vector<std::string>& words, std::size_t at) {
    return fmt::format("{} {} {} {} {}", words[at], words[at + 1], words[at + 2], words[at + 3], words[at + 4]);
  }
  static std::set<std::string> PiecesOf(const project::Work& work) {
    std::set<std::string> pieces;
    const auto add = [&](const std::string& text) {
      const auto words = SpyWords(text);
      for (std::size_t i = 0; i + 5 <= words.size(); ++i) pieces.insert(Piece(words, i));
    };
    for (const auto& [id, point] : work.checkpoints) {
      add(point.where_we_left_off);
      add(point.next_step);
      for (const auto* list : {&point.blockers, &point.tried, &point.pending}) std::for_each(list->begin(), list->end(), add);
    }
    for (const auto& [id, task] : work.tasks) {
      for (const auto& blocker : task.blockers) add(blocker.text);
    }
    return pieces;
  }

  SmallServer server_;
};

const std::vector<std::string> kSecrets = {"hunter2zebra", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "AKIAIOSFODNN7EXAMPLE"};

// Everything a careless agent would tell of the project.
std::vector<std::string> CarelessTexts(const project::Work& work) {
  std::vector<std::string> texts;
  const auto around = [&](const std::string& text) {
    for (const char* form : {"{}", "Note: {}", "Remember that {}, please.", "{} (said Ann)"})
      texts.push_back(fmt::format(fmt::runtime(form), text));
  };
  for (const auto& [id, task] : work.tasks) {
    around(id);
    around("task " + id);
    around(Lower(id) + ": " + task.title);
    for (const char* status : kStatusWords) {
      around(id + " is " + status);
      around(fmt::format("The task '{}' is {}", task.title, status));
    }
    for (const auto& blocker : task.blockers) around(blocker.text);
  }
  for (const auto& [id, goal] : work.goals) around(id + " is " + goal.text);
  for (const auto& [id, point] : work.checkpoints) {
    around(point.where_we_left_off);
    around(point.next_step);
    around(Lower(point.next_step));
    around("next is: " + point.next_step + ", and that soon");
    for (const auto* list : {&point.context_refs, &point.tried, &point.pending}) std::for_each(list->begin(), list->end(), around);
  }
  for (const auto& secret : kSecrets) {
    around("the password is " + secret);
    around("use token " + secret);
    around("SECRET_KEY=" + secret);
    around("https://ann:" + secret + "@db.internal/billing");
  }
  return texts;
}

TEST(MemorySpy, NothingOfAProjectReachesTheMemory) {
  const project::Work work = test::BillingProject();
  Spy spy;
  SystemClock clock;
  auto external = HttpMemory::Make({.url = spy.Url(), .allow_private_networks = true, .timeout = std::chrono::milliseconds(20'000)}, clock);
  ASSERT_TRUE(external) << external.message();
  Memory memory(std::move(*external));
  std::size_t sent = 0;
  const auto tell = [&](const std::string& text) {
    for (const char* type : {"preference", "decision", "fact", "status"}) {
      const auto learned = memory.Learn({type, text, std::nullopt, {test::kProject, 7}}, work);
      ASSERT_TRUE(learned) << text << ": " << learned.message();
      sent += learned->refused ? 0 : 1;
    }
    const auto searched = memory.Search({std::nullopt, text, 5}, work);
    ASSERT_TRUE(searched) << text << ": " << searched.message();
    sent += searched->refused ? 0 : 1;
  };
  for (const auto& text : CarelessTexts(work)) tell(text);
  for (const auto& line : test::ReadCorpus(ACL_SOURCE_DIR "/tests/data/memory/refuse.tsv", 4)) tell(line.text);
  for (const auto& line : test::ReadCorpus(ACL_SOURCE_DIR "/tests/data/memory/accept.tsv", 3)) tell(line.text);
  EXPECT_EQ(spy.requests(), sent);
  EXPECT_GT(sent, 1'000u);  // what may go out does
  EXPECT_EQ(spy.Leaks(work, kSecrets), std::vector<std::string>());
}

// The spy sees: told past the gate, each kind of leak is found.
TEST(MemorySpy, SeesWhatIsToldPastTheGate) {
  const project::Work work = test::BillingProject();
  Spy spy;
  HttpConfig config;
  config.allow_private_networks = true;
  HttpClient client(config);
  const auto tell = [&](const std::string& text) {
    HttpCall call;
    call.method = "POST";
    call.url = spy.Url() + "/v1/learnings";
    call.body = DumpJson(Json{{"text", text}});
    call.deadline = SystemClock().Steady() + std::chrono::seconds(20);
    std::promise<void> ended;
    client.Start(std::move(call), [&](const HttpAnswer&) { ended.set_value(); });
    ended.get_future().wait();
  };
  std::size_t known = 0;
  for (const auto& text : {std::string("see T3"), "made by " + test::kRun, std::string("Rows with a null currency were set aside"),
                           std::string("Proofread chapter 4: doing"), "password " + kSecrets[0]}) {
    tell(text);
    const std::size_t found = spy.Leaks(work, kSecrets).size();
    EXPECT_GT(found, known) << text;
    known = found;
  }
}

}  // namespace
}  // namespace acl::memory
