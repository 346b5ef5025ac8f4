// What a HUMAN_APPROVAL step asks, all of it resolved. Who may decide must be known by then: a set that a template left empty would be
// anybody.

#include <fmt/format.h>

#include <algorithm>

#include "shared/approval/digest.h"
#include "shared/capability/manifest.h"
#include "shared/definition/duration.h"
#include "shared/workflow/approvals.h"
#include "shared/workflow/beside.h"
#include "shared/workflow/decider.h"

namespace acl::workflow {

namespace {

using approval::Request;

std::string TextAt(const Json& inputs, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const Json* value = MemberOf(&inputs, key);
    if (value && value->is_string() && !value->get_ref<const std::string&>().empty()) return value->get<std::string>();
    if (value && !value->is_string() && !value->is_null()) return DumpJson(*value);
  }
  return "";
}

void AddRequester(Request& request, const std::string& who) {
  if (!who.empty() && std::find(request.requesters.begin(), request.requesters.end(), who) == request.requesters.end())
    request.requesters.push_back(who);
}

// Of a role, or one of the approvers: why it is none; empty: it is one.
std::string WrongName(const Json& given) {
  if (!given.is_string()) return DumpJson(given).substr(0, 200) + ", which is no text";
  const auto& text = given.get_ref<const std::string&>();
  if (text.empty() || text == "role:") return "empty, and would leave it to anybody";
  return text.size() > approval::kLongestName ? fmt::format("longer than {} bytes", approval::kLongestName) : "";
}

// Into the request: the role, the approvers (a template may stand for a list of them) and the role of the escalation.
Status NameDeciders(const ApprovalDefinition& said, const TemplateScope& scope, Request& request) {
  const auto resolved = ExpandTemplates({{"role", said.role}, {"approvers", said.approvers}, {"to", said.escalate_to}}, scope);
  if (!resolved) return Error{Code::kInvalid, "who may decide: " + resolved.message()};
  if (!resolved->missing.empty())
    return Error{Code::kInvalid, fmt::format("nothing answers {{{{{}}}}}, so nobody knows who may decide", resolved->missing.front())};
  for (const auto& [key, what, written, name] : {std::tuple("role", "'approver_role'", &said.role, &request.role),
                                                 std::tuple("to", "'to' of 'escalate'", &said.escalate_to, &request.escalate_to)}) {
    if (written->empty()) continue;
    const Json& given = resolved->value[key];
    if (std::string wrong = WrongName(given); !wrong.empty()) return Error{Code::kInvalid, fmt::format("{} is {}", what, wrong)};
    *name = given.get<std::string>();
  }
  Json names = Json::array();
  for (const Json& one : resolved->value["approvers"]) {
    if (one.is_array()) {
      names.insert(names.end(), one.begin(), one.end());
    } else {
      names.push_back(one);
    }
  }
  bool roles = false;
  for (const Json& one : names) {
    if (std::string wrong = WrongName(one); !wrong.empty()) return Error{Code::kInvalid, "one of 'approvers' is " + wrong};
    const auto& name = one.get_ref<const std::string&>();
    roles = roles || name.starts_with("role:");
    if (std::find(request.approvers.begin(), request.approvers.end(), name) == request.approvers.end()) request.approvers.push_back(name);
  }
  if (said.approvers.empty()) return {};
  if (request.approvers.empty()) return Error{Code::kInvalid, "'approvers' comes to nobody, and would leave it to anybody"};
  if (!roles && int(request.approvers.size()) < said.min_approvals)
    return Error{Code::kInvalid, fmt::format("'approvers' comes to {} persons, and 'min_approvals' asks for {}", request.approvers.size(),
                                             said.min_approvals)};
  return {};
}

}  // namespace

std::vector<std::string> RequestersOf(const Json* run) {
  std::vector<std::string> all = {TextOf(run, "submitter"), TextOf(run, "owner")};
  for (std::string& who : ListOf(run, "requesters")) all.push_back(std::move(who));
  std::erase(all, "");
  std::vector<std::string> each;
  for (std::string& who : all)
    if (std::find(each.begin(), each.end(), who) == each.end()) each.push_back(std::move(who));
  return each;
}

// kInvalid: why it cannot be asked.
Result<Request> Decider::RequestOf(const Instance& instance, Json& facts) {
  const StepDefinition& step = definition_.step(instance.step);
  const ApprovalDefinition& said = *step.approval;
  Json asked = {{"inputs", step.inputs}};
  if (said.timeout) asked["timeout"] = *said.timeout;
  std::vector<std::string> missing;
  const TemplateScope scope = ScopeOf(State(), definition_, instance);
  CapabilityCall resolved = ResolveCall("", asked, scope, UnansweredIn(definition_.definition(), nullptr), &missing);
  if (!missing.empty()) facts["missing"] = missing;
  if (!resolved.error.empty()) return Error{Code::kInvalid, resolved.error};
  Json& given = resolved.inputs;
  const RunRecord run = Run();
  Request request;
  request.run_id = run.run_id;
  request.step_id = instance.step_id;
  request.approval_id = ApprovalIdOf(run.run_id, instance.step_id);
  request.step_name = step.name;
  request.workflow = definition_.definition().name;
  request.description = step.description;
  request.risk = RiskName(step.risk);
  request.message = TextAt(given["inputs"], {"message", "approval_message"});
  if (request.message.empty()) request.message = fmt::format("May step '{}' of {} go on?", step.name, definition_.definition().name);
  request.arguments = std::move(given["inputs"]);
  if (const auto bytes = DumpedBytes(request.arguments); bytes > approval::kMostArgumentBytes)
    return Error{Code::kInvalid,
                 fmt::format("its inputs are {} bytes, more than the {} that a person can be asked about: say where it lies", bytes,
                             approval::kMostArgumentBytes)};
  if (!MayBeWrittenBeside(definition_, instance.step)) request.workspace_root = ManifestRoot(State());
  if (Status named = NameDeciders(said, scope, request); !named) return named.error();
  request.requesters = RequestersOf(run.json);
  if (!step.agent_name.empty()) AddRequester(request, step.agent_name);
  request.needed = said.min_approvals;
  request.allow_requester = said.allow_requester;
  if (!request.allow_requester && request.requesters.empty())
    return Error{Code::kInvalid, "who asks may not approve ('allow_requester: false'), and nobody knows who asks: name an 'owner'"};
  request.requested_at = now_;
  if (said.timeout) {
    const auto length = ParseDuration(given["timeout"]);
    if (!length || length->count() == 0)
      return Error{Code::kInvalid, fmt::format("the time to decide is {}, which is no length of time; it must be {}",
                                               DumpJson(given["timeout"]).substr(0, 200), kDurationForms)};
    request.expires_at = now_ + *length;
  }
  request.digest = approval::DigestOf(request);
  return request;
}

}  // namespace acl::workflow
