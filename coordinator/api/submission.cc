#include "coordinator/api/submission.h"

#include <fmt/format.h>

#include "coordinator/api/forms.h"
#include "shared/base/canonical_json.h"

namespace acl::coordinator {

std::optional<HttpResponse> WrongType(const Json& body, const char* member, bool fits, const char* wanted) {
  if (!body.contains(member) || fits) return std::nullopt;
  return Problem(422, "invalid-request", fmt::format("'{}' is not {}", member, wanted),
                 Json::array({ErrorItem("wrong-type", fmt::format("'{}' is {}, not {}", member, body[member].type_name(), wanted),
                                        std::string("/") + member)}));
}

std::optional<std::string> WrongLabels(const Json& labels) {
  constexpr std::string_view kRule = "labels: at most 64, names of 1 to 63 bytes without '=', values strings of at most 255 bytes";
  if (labels.size() > 64) return fmt::format("{}; there are {}", kRule, labels.size());
  for (const auto& [key, value] : labels.items()) {
    if (!value.is_string() || key.empty() || key.size() > 63 || key.find('=') != std::string::npos ||
        value.get_ref<const std::string&>().size() > 255) {
      return fmt::format("{}; '{}' does not fit", kRule, key);
    }
  }
  return std::nullopt;
}

OrRefusal<Submission> ReadSubmission(const HttpRequest& request) {
  Submission out;
  const auto* type = request.Header("content-type");
  if (type != nullptr && type->find("yaml") != std::string::npos) {
    out.text = request.body;
    out.hash = CanonicalHash({{"workflow", ToHex(out.text)}});  // hex: the text need not be UTF-8 yet
    return out;
  }
  auto read = ReadObject(request, {"workflow", "file", "inputs", "files", "labels", "strict", "strict_templates", "lenient_templates"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  return ReadSubmissionMembers(std::move(ValueOf(read)));
}

OrRefusal<Submission> ReadSubmissionMembers(Json body) {
  Submission out;
  const auto text = [&](const char* member) { return body.contains(member) && body[member].is_string(); };
  const auto is = [&](const char* member, Json::value_t type) { return !body.contains(member) || body[member].type() == type; };
  if (!body.contains("workflow")) {
    return Problem(422, "invalid-request", "'workflow' is missing: the text of the workflow, YAML or JSON",
                   Json::array({ErrorItem("missing-member", "'workflow' is missing", "/workflow")}));
  }
  if (body["workflow"].is_object()) body["workflow"] = DumpJson(body["workflow"]);  // JSON in JSON is as good as its text
  for (auto refusal :
       {WrongType(body, "workflow", text("workflow"), "a string: the text of the workflow"),
        WrongType(body, "file", text("file"), "a string"), WrongType(body, "inputs", is("inputs", Json::value_t::object), "an object"),
        WrongType(body, "labels", is("labels", Json::value_t::object), "an object of strings"),
        WrongType(body, "files", is("files", Json::value_t::array), "a list"),
        WrongType(body, "strict", is("strict", Json::value_t::boolean), "true or false"),
        WrongType(body, "strict_templates", is("strict_templates", Json::value_t::boolean), "true or false"),
        WrongType(body, "lenient_templates", is("lenient_templates", Json::value_t::boolean), "true or false")}) {
    if (refusal) return std::move(*refusal);
  }
  if (text("file")) out.file = body["file"];
  out.strict = body.value("strict", false);
  out.strict_templates = body.value("strict_templates", false);
  out.lenient_templates = body.value("lenient_templates", false);
  body.erase("file");
  out.hash = CanonicalHash(body);
  // Out of the body, not copies: they may be large.
  out.text = std::move(body["workflow"].get_ref<std::string&>());
  for (auto [member, into] : {std::pair("inputs", &out.inputs), std::pair("labels", &out.labels), std::pair("files", &out.files)}) {
    if (body.contains(member)) *into = std::move(body[member]);
  }
  if (auto wrong = WrongLabels(out.labels)) {
    return Problem(422, "invalid-request", *wrong, Json::array({ErrorItem("bad-label", *wrong, "/labels")}));
  }
  return out;
}

LoadOptions OptionsOf(const Submission& submission, bool for_submit) {
  LoadOptions options;
  options.strict = submission.strict;
  options.strict_templates = submission.strict_templates;
  options.lenient_templates = submission.lenient_templates;
  options.for_submit = for_submit;
  return options;
}

HttpResponse InvalidWorkflow(const std::string& file, const std::vector<Finding>& findings) {
  // Nothing is said of the file then: it may be sent again.
  for (const auto& finding : findings) {
    if (finding.code == "out-of-memory") return Problem(503, "out-of-memory", finding.message).With("Retry-After", "1");
  }
  int errors = 0;
  for (const auto& finding : findings) errors += finding.severity == Finding::Severity::kError ? 1 : 0;
  return Problem(422, "invalid-workflow", fmt::format("{} has {} error{}", file, errors, errors == 1 ? "" : "s"),
                 FindingsToJson(file, findings));
}

}  // namespace acl::coordinator
