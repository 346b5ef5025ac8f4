#include "coordinator/children.h"

#include <map>
#include <set>

#include "coordinator/state_reader.h"
#include "shared/base/sha256.h"
#include "shared/definition/loader.h"
#include "shared/telemetry/log.h"
#include "shared/workflow/next_run.h"
#include "shared/workflow/state.h"
#include "shared/workflow/undo_run.h"

namespace acl::coordinator {

namespace {

workflow::CreateRequest RequestOf(const AskedSubject& asked, const Json& said) {
  workflow::CreateRequest request;
  request.subject = asked.subject;
  request.project = asked.project;
  request.parent = workflow::CreateRequest::Parent{asked.sender, said.value("step_id", ""), said.value("depth", 1)};
  if (auto trace = ParseTraceparent(said.value("traceparent", ""))) request.trace = std::move(*trace);
  request.request_key = "child:" + asked.subject.ToString();
  request.request_hash = Sha256(asked.payload);
  request.labels = Json{{"parent", asked.sender.ToString()}};
  return request;
}

Result<Document> StateOf(const JobContext& context, const SubjectId& subject) {
  return ReadStateOf(
      context.queries, context.store, subject, [](std::size_t) { return Status(); }, [](std::size_t) {});
}

// The definitions of those who ask, each read once a look: they never change.
class SenderDefinitions {
 public:
  explicit SenderDefinitions(const JobContext& context) : context_(context) {}

  Result<WorkflowDefinition> ChildOf(const SubjectId& sender, const std::string& name) {
    auto known = definitions_.find(sender);
    if (known == definitions_.end()) {
      const auto state = StateOf(context_, sender);
      if (!state) return state.error();
      const Json* definition = state->Find(workflow::kDefinitionKey);
      known = definitions_.emplace(sender, definition ? *definition : Json::object()).first;
    }
    return ChildDefinitionOf(known->second, name);
  }

 private:
  const JobContext& context_;
  std::map<SubjectId, Json> definitions_;
};

// The run that goes on in its asker's place has its labels and its file, and its parent.
Result<CreateItem> NextOf(const JobContext& context, const RunMaker& maker, const AskedSubject& asked, const Json& said,
                          workflow::CreateRequest request) {
  request.parent.reset();
  request.request_key = "continue:" + asked.subject.ToString();
  request.labels = Json::object();
  auto listed = context.queries.GetSubject(asked.sender);
  if (!listed) return listed.error();
  if (listed->listing) {
    request.definition_text = listed->listing->definition_text;
    if (auto labels = ParseJson(listed->listing->labels_json); labels && labels->is_object()) request.labels = std::move(*labels);
  }
  auto state = StateOf(context, asked.sender);
  if (!state) return state.error();
  return workflow::MakeNextItem(maker.kind, *state, said, std::move(request));
}

// What a model proposed and people approved (shared/kinds/ask/intents.h): a run of its own, nobody's child.
Result<CreateItem> IntentRunOf(const RunMaker& maker, const AskedSubject& asked, const Json& said, workflow::CreateRequest request) {
  request.parent.reset();
  request.request_key = "intent:" + asked.subject.ToString();
  request.definition_text = said.value("file", "");
  const Loaded loaded = LoadWorkflow(request.definition_text, maker.capabilities, {});
  if (!loaded.ok())
    return Error{Code::kInvalid,
                 loaded.findings.empty() ? "the tool's workflow cannot be read" : FormatFinding("workflow", loaded.findings.front())};
  request.labels = {{"intent", said.value("intent", "")}, {"exchange", said.value("exchange_id", "")}};
  request.inputs = said.value("inputs", Json::object());
  request.submitter = said.value("submitter", "");
  request.requesters = workflow::ListOf(&said, "requesters");
  return PrepareRun(maker, *loaded.definition, std::move(request));
}

Result<CreateItem> ItemOf(const JobContext& context, const RunMaker& maker, const AskedSubject& asked, SenderDefinitions& definitions) {
  auto said = ParseJson(asked.payload, kStoredJson);
  if (!said) return Error{Code::kInvalid, "what was asked for cannot be read: " + said.message()};
  workflow::CreateRequest request = RequestOf(asked, *said);
  if (const auto undone = SubjectId::Parse(said->value("undo_of", ""))) {
    request.labels["undo_of"] = undone->ToString();
    auto state = ReadStateOf(
        context.queries, context.store, *undone, [](std::size_t) { return Status(); }, [](std::size_t) {});
    if (!state) return state.error();
    return workflow::MakeUndoItem(maker.kind, *state, std::move(request));
  }
  if (said->contains("intent")) return IntentRunOf(maker, asked, *said, std::move(request));
  if (said->contains("continue_of")) return NextOf(context, maker, asked, *said, std::move(request));
  auto definition = definitions.ChildOf(asked.sender, said->value("workflow", ""));
  if (!definition) return definition.error();
  if (const auto deadline = ParseWallTime(said->value("deadline_at", ""))) {  // the parent's time is the child's too
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(*deadline - context.clock.Wall());
    definition->max_execution_time = std::max(std::chrono::seconds(1), std::min(definition->max_execution_time, left));
  }
  request.inputs = said->value("inputs", Json::object());
  request.submitter = definition->owner;
  request.requesters = workflow::ListOf(&*said, "requesters");
  return PrepareRun(maker, *definition, std::move(request));
}

// Asking again will not change it.
bool IsFinal(Code code) { return code == Code::kInvalid || code == Code::kNotFound || code == Code::kCorrupt || code == Code::kConflict; }
// Whatever is asked for next would meet it too.
bool IsOfTheStore(Code code) { return code == Code::kUnavailable || code == Code::kTimeout || code == Code::kOutcomeUnknown; }

// Who asked has ended, and nobody else would hear of it: it is tried for as long as it takes.
bool GoesOn(const AskedSubject& asked) {
  const auto said = ParseJson(asked.payload, kStoredJson);
  return said && said->contains("continue_of");
}

Status TellAsker(const JobContext& context, const RunMaker& maker, const AskedSubject& asked, const std::string& why) {
  const auto said = ParseJson(asked.payload, kStoredJson);
  const Json ended = {
      {"from", asked.subject.ToString()},
      {"said", {{"step_id", said ? said->value("step_id", "") : ""}, {"status", "FAILED"}, {"error", "it could not be made: " + why}}}};
  InboxPost post;
  post.subject = asked.sender;
  post.id = maker.ids.New<InboxId>();
  post.kind = std::string(kChildEndedPost);
  post.payload = DumpJson(ended);
  post.request_key = "child-refused:" + asked.subject.ToString();
  auto posted = context.store.Post(post);
  return posted || posted.code() == Code::kConflict || posted.code() == Code::kNotFound ? Status() : Status(posted.error());
}

}  // namespace

Result<int> MakeChildren(const JobContext& context, const RunMaker& maker, int max) {
  static const Logger log("children");
  auto asked = context.store.AskedSubjects(max);
  if (!asked) return asked.error();
  std::vector<std::int64_t> done;
  std::set<std::string> queues;
  SenderDefinitions definitions(context);
  Status stopped;
  for (const AskedSubject& one : *asked) {
    auto item = ItemOf(context, maker, one, definitions);
    Status made = item ? Status() : Status(item.error());
    if (item) {
      auto created = context.store.Create({&*item, 1});
      if (!created) {
        made = created.error();
      } else if (created->front().kind == CreateOutcome::Kind::kCreated) {
        queues.insert(item->queue);
      }
    }
    const bool given_up = !made && IsFinal(made.code()) && !GoesOn(one);
    if (!made)
      log.Warn("a run that another asked for cannot be made",
               {{"run", one.subject.ToString()}, {"parent", one.sender.ToString()}, {"why", made.message()}, {"given_up", given_up}});
    if (given_up) made = TellAsker(context, maker, one, made.message());
    if (made) {
      done.push_back(one.outbox_id);
    } else if (IsOfTheStore(made.code())) {
      stopped = made;
      break;
    }
  }
  if (!done.empty())
    if (Status forgotten = context.store.ForgetAsked(done); !forgotten) return forgotten.error();
  for (const std::string& queue : queues) context.ring(queue);
  return stopped ? Result<int>(int(done.size())) : Result<int>(stopped.error());
}

}  // namespace acl::coordinator
