// The stored form of a request.
#include <fmt/format.h>

#include "shared/approval/approval.h"

namespace acl::approval {

namespace {

// Members as they are asked for: of another type, or absent, they are empty.
class RequestReader {
 public:
  explicit RequestReader(const Json& json) : json_(json) {}

  std::string Text(const char* key) const {
    const Json* value = At(key);
    return value && value->is_string() ? value->get<std::string>() : std::string();
  }
  std::vector<std::string> Texts(const char* key) const {
    std::vector<std::string> out;
    const Json* value = At(key);
    if (!value || !value->is_array()) return out;
    for (const Json& one : *value)
      if (one.is_string()) out.push_back(one.get<std::string>());
    return out;
  }
  std::optional<WallTime> Time(const char* key) const {
    const std::string text = Text(key);
    return text.empty() ? std::nullopt : ParseWallTime(text);
  }
  const Json* At(const char* key) const {
    const auto it = json_.find(key);
    return it == json_.end() ? nullptr : &*it;
  }

 private:
  const Json& json_;
};

Json VoteJson(const Vote& vote) {
  Json out = {{"by", vote.by}, {"at", FormatWallTime(vote.at)}, {"assurance", vote.assurance}, {"channel", vote.channel}};
  if (!vote.comment.empty()) out["comment"] = vote.comment;
  return out;
}

}  // namespace

Json ToJson(const Request& request) {
  Json out = {{"approval_id", request.approval_id}, {"run_id", request.run_id},     {"step_id", request.step_id},
              {"step_name", request.step_name},     {"workflow", request.workflow}, {"state", request.state},
              {"message", request.message},         {"risk_level", request.risk},   {"arguments", request.arguments},
              {"digest", request.digest},           {"needed", request.needed},     {"allow_requester", request.allow_requester}};
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  const auto list = [&](const char* key, const std::vector<std::string>& values) {
    if (!values.empty()) out[key] = values;
  };
  text("description", request.description);
  text("workspace_root", request.workspace_root);
  text("approver_role", request.role);
  list("approvers", request.approvers);
  list("requesters", request.requesters);
  text("escalate_to", request.escalate_to);
  if (request.version > 1) out["version"] = request.version;
  list("escalated_roles", request.escalated_roles);
  out["requested_at"] = FormatWallTime(request.requested_at);
  if (request.expires_at) out["expires_at"] = FormatWallTime(*request.expires_at);
  for (const Vote& vote : request.votes) out["votes"].push_back(VoteJson(vote));
  text("decided_by", request.decided_by);
  text("comment", request.comment);
  if (request.decided_at) out["decided_at"] = FormatWallTime(*request.decided_at);
  return out;
}

Result<Request> RequestFrom(const Json& json) {
  if (!json.is_object()) return Error{Code::kCorrupt, "a stored approval is no object"};
  const RequestReader read(json);
  Request out;
  out.approval_id = read.Text("approval_id");
  out.run_id = read.Text("run_id");
  out.step_id = read.Text("step_id");
  out.step_name = read.Text("step_name");
  out.workflow = read.Text("workflow");
  out.message = read.Text("message");
  out.description = read.Text("description");
  out.risk = read.Text("risk_level");
  if (const Json* arguments = read.At("arguments")) out.arguments = *arguments;
  out.workspace_root = read.Text("workspace_root");
  out.role = read.Text("approver_role");
  out.approvers = read.Texts("approvers");
  out.requesters = read.Texts("requesters");
  out.escalate_to = read.Text("escalate_to");
  if (const Json* version = read.At("version"); version && version->is_number_integer()) out.version = version->get<int>();
  out.escalated_roles = read.Texts("escalated_roles");
  if (const Json* needed = read.At("needed"); needed && needed->is_number_integer()) out.needed = needed->get<int>();
  if (const Json* allowed = read.At("allow_requester"); allowed && allowed->is_boolean()) out.allow_requester = allowed->get<bool>();
  const auto requested_at = read.Time("requested_at");
  out.expires_at = read.Time("expires_at");
  out.state = read.Text("state");
  const Json* votes = read.At("votes");
  for (const Json& one : votes && votes->is_array() ? *votes : Json::array()) {
    const RequestReader vote(one);
    out.votes.push_back(
        {vote.Text("by"), vote.Time("at").value_or(WallTime{}), vote.Text("assurance"), vote.Text("channel"), vote.Text("comment")});
  }
  out.decided_by = read.Text("decided_by");
  out.comment = read.Text("comment");
  out.decided_at = read.Time("decided_at");
  out.digest = read.Text("digest");
  if (out.approval_id.empty() || out.step_id.empty() || out.digest.empty() || out.state.empty() || !requested_at)
    return Error{Code::kCorrupt, fmt::format("the stored approval '{}' says not all of what an approval is", out.approval_id)};
  out.requested_at = *requested_at;
  return out;
}

}  // namespace acl::approval
