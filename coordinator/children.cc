#include "coordinator/children.h"

#include <set>

#include "coordinator/state_reader.h"
#include "shared/base/sha256.h"
#include "shared/telemetry/log.h"
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

// Errors that asking again will not change are kInvalid, kNotFound, kCorrupt and kConflict.
Result<CreateItem> ItemOf(const TurnContext& context, const RunMaker& maker, const AskedSubject& asked) {
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
  auto spec = SpecFromJson(said->value("spec", Json()));
  if (!spec) return Error{Code::kInvalid, spec.message()};
  if (const auto deadline = ParseWallTime(said->value("deadline_at", ""))) {  // the parent's time is the child's too
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(*deadline - context.clock.Wall());
    spec->max_execution_time = std::max(std::chrono::seconds(1), std::min(spec->max_execution_time, left));
  }
  request.inputs = said->value("inputs", Json::object());
  request.submitter = spec->owner;
  return PrepareRun(maker, *spec, std::move(request));
}

bool IsFinal(Code code) { return code == Code::kInvalid || code == Code::kNotFound || code == Code::kCorrupt || code == Code::kConflict; }

Status TellAsker(const TurnContext& context, const RunMaker& maker, const AskedSubject& asked, const std::string& why) {
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

Result<int> MakeChildren(const TurnContext& context, const RunMaker& maker, int max) {
  static const Logger log("children");
  auto asked = context.store.AskedSubjects(max);
  if (!asked) return asked.error();
  std::vector<std::int64_t> done;
  std::set<std::string> queues;
  for (const AskedSubject& one : *asked) {
    auto item = ItemOf(context, maker, one);
    Status made = item ? Status() : Status(item.error());
    if (item) {
      auto created = context.store.Create({&*item, 1});
      if (!created)
        made = created.error();
      else if (created->front().kind == CreateOutcome::Kind::kCreated)
        queues.insert(item->queue);
    }
    if (!made && IsFinal(made.code())) {
      log.Warn("a run that another asked for cannot be made",
               {{"run", one.subject.ToString()}, {"parent", one.sender.ToString()}, {"why", made.message()}});
      made = TellAsker(context, maker, one, made.message());
    }
    if (!made) {
      if (done.empty()) return made.error();
      break;
    }
    done.push_back(one.outbox_id);
  }
  if (!done.empty())
    if (Status forgotten = context.store.ForgetAsked(done); !forgotten) return forgotten.error();
  for (const std::string& queue : queues) context.ring(queue);
  return int(asked->size());
}

}  // namespace acl::coordinator
