#pragma once
// The API over memory, with real HTTP left out: requests go through the router to the handler.

#include <gtest/gtest.h>

#include <future>

#include "coordinator/api/api.h"
#include "coordinator/api/contents.h"
#include "coordinator/api/event_feed.h"
#include "coordinator/ask/ask_desk.h"
#include "coordinator/definition_cache.h"
#include "coordinator/end_watch.h"
#include "coordinator/projects/store_desk.h"
#include "coordinator/projects/transfer.h"
#include "coordinator/run_creator.h"
#include "shared/base/sha256.h"
#include "shared/capability/standard.h"
#include "shared/http/url.h"
#include "shared/kernel/item_builder.h"
#include "shared/kernel/memory_queries.h"
#include "shared/kinds/agent/agent_kind.h"
#include "shared/kinds/project/project_kind.h"
#include "shared/workflow/workflow_kind.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_approvals.h"
#include "tests/support/memory_ask_rows.h"
#include "tests/support/memory_deliveries.h"
#include "tests/support/memory_project_names.h"
#include "tests/support/memory_schedules.h"

namespace acl::coordinator {

inline constexpr const char* kYaml = R"(
name: hello
steps:
  - name: greet
    capability: test.echo
    inputs: {text: hi}
)";

class ApiFixture : public ::testing::Test {
 protected:
  ApiFixture() {
    RegisterStandardCapabilities(*registry_, {});
    kind_ = workflow::MakeWorkflowKind(registry_);
    Bell bell;
    bell.work = [this](const std::string& queue) { notified_.push_back("work " + queue); };
    bell.subject = [this](const WorkerSessionId&, const SubjectId& subject) { notified_.push_back("subject " + subject.ToString()); };
    bell_ = bell;
    schedules_.is_open = [this](const SubjectId& run) {
      auto view = queries_.GetSubject(run);
      return view && view->state != OpenState::kClosed;
    };
    api_ = std::make_unique<ApiContext>(ApiContext{store_,
                                                   queries_,
                                                   *registry_,
                                                   *kind_,
                                                   ids_,
                                                   feed_,
                                                   contents_,
                                                   definitions_,
                                                   creator_,
                                                   ends_,
                                                   schedules_,
                                                   {},
                                                   bell,
                                                   metrics_.counter({"hits", "help"})});
    api_->deliveries = &deliveries_;
    api_->approvals = &approvals_;
    api_->approval_wait = milliseconds(0);  // nobody runs anything here
    api_->projects = &projects_;
    api_->transfers = &transfers_;
    api_->asks = &asks_;
    api_->agent_kind = agent_kind_.get();
    AddApiRoutes(router_, *api_);
    EXPECT_TRUE(creator_.Start());
    EXPECT_TRUE(ends_.Start());
  }

  struct Answer {
    int status = 0;
    Json body;
    HttpHeaders headers;
    std::string text;
    HttpResponse response;
    bool quick = false;  // on the server's thread
    std::string Header(const std::string& name) const {
      for (const auto& [key, value] : headers) {
        if (key == name) return value;
      }
      return "";
    }
    std::string code() const { return body.is_object() ? body.value("code", "") : ""; }
  };

  Answer Ask(const std::string& method, const std::string& target, const std::string& body = "", HttpHeaders headers = {}) {
    Answer answer;
    answer.response = AskOnly(method, target, body, std::move(headers), &answer.quick);
    answer.status = answer.response.status;
    answer.headers = answer.response.headers;
    answer.text = answer.response.body;
    answer.body = Json::parse(answer.text, nullptr, false);
    return answer;
  }
  // The answer as it is, not read.
  HttpResponse AskOnly(const std::string& method, const std::string& target, const std::string& body, HttpHeaders headers = {},
                       bool* answered_quickly = nullptr) {
    HttpRequest request;
    request.method = method;
    const auto mark = target.find('?');
    request.path = target.substr(0, mark);
    if (mark != std::string::npos) request.query = *ParseQuery(target.substr(mark + 1));
    request.headers = std::move(headers);
    request.body = body;
    auto match = router_.Find(method, request.path);
    if (match.route == nullptr) {
      ADD_FAILURE() << "no route " << method << " " << target;
      return {};
    }
    request.params = match.params;
    // As the server does.
    const auto quick = match.route->options.quick ? match.route->options.quick(request) : std::nullopt;
    if (answered_quickly != nullptr) *answered_quickly = quick.has_value();
    HttpResponse response = quick ? *quick : match.route->handler(request);
    if (!response.later) return response;
    std::promise<HttpResponse> later;
    response.later([&](HttpResponse given) { later.set_value(std::move(given)); });
    return later.get_future().get();
  }
  Answer Post(const std::string& target, const Json& body, const std::string& key = "") {
    HttpHeaders headers = {{"content-type", "application/json"}};
    if (!key.empty()) headers.emplace_back("idempotency-key", key);
    return Ask("POST", target, body.is_null() ? "" : body.dump(), headers);
  }
  std::string Submit(const Json& more = Json::object()) {
    Json body = {{"workflow", kYaml}};
    body.update(more);
    const auto answer = Post("/v1/workflows", body);
    EXPECT_EQ(answer.status, 201) << answer.text;
    return answer.status == 201 ? answer.body["id"] : "";
  }
  // Ends a run as a worker would, without running it.
  // Its journal ends, and is dropped two hours later: the one that is left begins with the next event.
  void RollAndDrop(const std::string& id) {
    auto session = store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = milliseconds(60'000)});
    auto claimed = store_.Claim({.session = session->session, .max = 100});
    ASSERT_TRUE(claimed);
    for (const auto& one : claimed->claimed) {
      if (one.subject.ToString() != id) continue;
      auto restored = Restore(one.subject, one.snapshot, one.events, [&](const Hash256& hash) { return store_.GetContent(hash); });
      ASSERT_TRUE(restored.ok()) << restored.message();
      EncodedSnapshot closing = EncodeSnapshot(restored->state, one.head.seq, one.head.chain);
      ASSERT_TRUE(store_.PutContents(closing.contents));
      ItemBuilder made(*kind_, BaseOf(one, session->session), restored->state);
      made.Roll(closing.snapshot, one.db_now);
      made.Finish(one.db_now);
      auto outcome = store_.Commit({&made.item, 1});
      ASSERT_TRUE(outcome);
      ASSERT_EQ(outcome->front().kind, CommitOutcome::Kind::kCommitted) << outcome->front().error;
    }
    clock_.Advance(std::chrono::hours(2));
    auto dropped = store_.DropSegments(std::chrono::hours(1), 10);
    ASSERT_TRUE(dropped.ok()) << dropped.message();
    ASSERT_EQ(dropped->segments, 1);
  }
  void Close(const std::string& id) {
    auto session = store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = milliseconds(60'000)});
    auto claimed = store_.Claim({.session = session->session, .max = 100});
    ASSERT_TRUE(claimed);
    for (const auto& one : claimed->claimed) {
      if (one.subject.ToString() != id) continue;
      CommitItem item;
      item.subject = one.subject;
      item.session = session->session;
      item.token = one.token;
      item.base_seq = one.head.seq;
      item.chain = one.head.chain;
      item.state_root = one.head.state_root;
      item.last_timestamp = one.head.last_timestamp;
      item.disposition = Disposition::kClose;
      item.expected_wake = one.wake;
      item.listing = ListingChange{.status = "COMPLETED"};
      auto outcome = store_.Commit({&item, 1});
      ASSERT_TRUE(outcome);
      ASSERT_EQ(outcome->front().kind, CommitOutcome::Kind::kCommitted) << outcome->front().error;
      return;
    }
    FAIL() << "run " << id << " was not claimed";
  }

  test::ManualClock clock_;
  SeededRandom random_{1};
  Metrics metrics_;
  MemoryStore store_{clock_};
  MemoryQueries queries_{store_, clock_};
  Uuid7Maker ids_{clock_, random_};
  std::shared_ptr<CapabilityRegistry> registry_ = std::make_shared<CapabilityRegistry>();
  std::shared_ptr<const SubjectKind> kind_;
  EventFeed feed_{queries_, clock_};
  BlobPresenceCache contents_;
  LoadedDefinitionCache definitions_{*registry_};
  RunCreator creator_{store_, [this](const std::string& queue) { bell_.RingWork(queue); }};
  EndWatch ends_{queries_, clock_};
  test::MemorySchedules schedules_{clock_};
  test::MemoryDeliveries deliveries_{clock_};
  test::MemoryApprovals approvals_{store_};
  test::MemoryProjectNames project_names_{queries_, clock_};
  std::shared_ptr<const CommandKind> project_kind_ = project::MakeProjectKind();
  StoreDesk projects_{store_, queries_, project_names_, *project_kind_, ids_};
  ProjectTransfer transfers_{store_, queries_, project_names_, *project_kind_, ids_};
  MemoryAskRows ask_rows_;
  std::shared_ptr<const CommandKind> ask_kind_ = ask::MakeAskKind(), ledger_kind_ = ledger::MakeLedgerKind();
  std::shared_ptr<const SubjectKind> agent_kind_ = agent::MakeAgentKind(registry_);
  AskDesk asks_{{store_, queries_, ask_rows_, *ask_kind_, *ledger_kind_, &projects_, ids_, clock_, random_, {}}, nullptr};
  std::vector<std::string> notified_;
  Bell bell_;
  std::unique_ptr<ApiContext> api_;
  Router router_;
};

}  // namespace acl::coordinator
