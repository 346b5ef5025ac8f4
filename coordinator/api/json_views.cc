#include "coordinator/api/json_views.h"

#include "shared/base/sha256.h"
#include "shared/journal/document.h"
#include "shared/journal/segment.h"
#include "shared/workflow/end_reason.h"

namespace acl::coordinator {
namespace {

void AddTime(Json& json, const char* key, const std::optional<WallTime>& time) {
  if (time) json[key] = FormatWallTime(*time);
}
void AddText(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

Json ParsedOr(const std::string& text, Json otherwise) {
  auto parsed = ParseJson(text, kStoredJson);
  return parsed ? std::move(*parsed) : std::move(otherwise);
}

}  // namespace

Json SubjectToJson(const SubjectView& view) {
  Json json = {{"id", view.subject.ToString()}, {"kind", view.kind}};
  if (view.listing) {
    json["name"] = view.listing->name;
    json["version"] = view.listing->version;
    AddText(json, "owner", view.listing->owner);
    json["status"] = view.listing->status;
    json["labels"] = ParsedOr(view.listing->labels_json, Json::object());
  }
  AddText(json, "error", view.error_message);
  if (view.listing && (view.listing->status == "FAILED" || view.listing->status == "ROLLED_BACK"))
    AddText(json, "reason", std::string(workflow::ReasonOfError(view.error_message)));
  AddTime(json, "created_at", view.created_at);
  AddTime(json, "started_at", view.started_at);
  AddTime(json, "completed_at", view.completed_at);
  AddTime(json, "updated_at", view.updated_at);
  json["queue"] = view.queue;
  json["priority"] = view.priority;
  Json state = {{"name", std::string(OpenStateName(view.state))}};
  AddTime(state, "since", view.since);
  AddText(state, "blocked_on", view.waiting_reason);
  AddTime(state, "next_wake", view.next_wake);
  AddText(state, "holder", view.holder_name);
  if (view.holder) state["session"] = view.holder->ToString();
  if (view.worker_deaths > 0) state["worker_deaths"] = view.worker_deaths;
  json["state"] = std::move(state);
  json["fencing_token"] = view.token.value;
  json["head_seq"] = view.head.seq;
  return json;
}

Json DroppedToJson(const SubjectId& subject, std::int64_t after_seq, std::int64_t first_kept) {
  std::string detail = DroppedText(subject, after_seq, first_kept);
  if (detail.empty()) return nullptr;
  return {{"first", after_seq + 1}, {"last", first_kept - 1}, {"detail", std::move(detail)}};
}

std::string EventText(const Event& event) {
  Json json = {{"event_seq", event.seq},
               {"event_type", event.type},
               {"timestamp", FormatWallTime(event.timestamp)},
               {"fencing_token", event.token.value},
               {"schema_version", event.schema_version},
               {"producer_version", event.producer_version},
               {"journal_id", event.journal.ToString()},
               {"checksum", ToHex(event.checksum)},
               {"content_hash", ToHex(event.content_hash)},
               {"chain", ToHex(event.chain)}};
  std::string text = DumpJson(json);
  text.back() = ',';
  text += "\"payload\":";
  if (!event.payload) {
    text += "null";
  } else if (Sha256(*event.payload) == event.content_hash) {
    text += *event.payload;  // as a program of ours wrote it
  } else {
    AppendJson(ParsedOr(*event.payload, Json(*event.payload)), text);
  }
  return text += '}';
}

Json AttemptToJson(const AttemptView& view) {
  Json json = {{"step_id", view.step_id},
               {"attempt_id", view.attempt_id},
               {"fencing_token", view.token.value},
               {"started_at", FormatWallTime(view.started_at)}};
  AddTime(json, "completed_at", view.completed_at);
  return json;
}

Json DispatchToJson(const DispatchView& view) {
  Json json = {{"dispatch_id", view.id.ToString()}, {"step_id", view.step_id}, {"attempt_id", view.attempt_id}, {"queue", view.queue},
               {"priority", view.priority},         {"state", view.state}};
  if (view.cancel_requested) json["cancel_requested"] = true;
  AddText(json, "holder", view.worker_name);
  if (view.token > Token{}) json["fencing_token"] = view.token.value;
  AddTime(json, "queued_at", view.created_at);
  AddTime(json, "started_at", view.started_at);
  AddTime(json, "ended_at", view.ended_at);
  AddTime(json, "deadline_at", view.deadline);
  return json;
}

Json GrantToJson(const GrantView& view) {
  Json json = {{"fencing_token", view.token.value},
               {"session", view.session.ToString()},
               {"head_seq", view.head_seq},
               {"takeovers_without_progress", view.takeovers_without_progress},
               {"granted_at", FormatWallTime(view.granted_at)}};
  if (view.died_alone > 0) json["died_alone"] = view.died_alone;
  AddText(json, "worker_name", view.worker_name);
  return json;
}

Json LeaseToJson(const LeaseView& view) {
  return {{"workflow_id", view.subject.ToString()},
          {"owner_id", view.session.ToString()},
          {"worker_name", view.worker_name},
          {"fencing_token", view.token.value},
          {"acquired_at", FormatWallTime(view.acquired_at)},
          {"lease_expires_at", FormatWallTime(view.expires_at)}};
}

Json SessionToJson(const SessionRow& row) {
  return {{"session", row.session.ToString()},
          {"worker_name", row.worker_name},
          {"host", row.host},
          {"pid", row.pid},
          {"version", row.version},
          {"slots", row.slots},
          {"queues", row.queues},
          {"leases_held", row.leases_held},
          {"started_at", FormatWallTime(row.started_at)},
          {"heartbeat_at", FormatWallTime(row.heartbeat_at)},
          {"expires_at", FormatWallTime(row.expires_at)},
          {"dead", row.dead}};
}

Json QuarantineToJson(const QuarantineView& view) {
  Json json = {{"workflow_id", view.subject.ToString()}, {"reason", view.reason}, {"detail", view.detail}, {"at", FormatWallTime(view.at)}};
  AddTime(json, "released_at", view.released_at);
  AddText(json, "released_by", view.released_by);
  return json;
}

Json FindingToJson(const std::string& file, const Finding& finding) {
  Json json = {{"severity", finding.severity == Finding::Severity::kError ? "error" : "warning"},
               {"code", finding.code},
               {"message", finding.message}};
  if (finding.mark.line > 0) {
    json["line"] = finding.mark.line;
    json["column"] = finding.mark.column;
  }
  json["text"] = FormatFinding(file, finding);
  return json;
}

Json FindingsToJson(const std::string& file, const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const auto& finding : findings) list.push_back(FindingToJson(file, finding));
  return list;
}

}  // namespace acl::coordinator
