#include "coordinator/api/submission.h"
#include "coordinator/api/contents.h"
#include "shared/base/limits.h"

#include <fmt/format.h>

#include "coordinator/api/json_views.h"
#include "coordinator/definition_cache.h"
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

OrRefusal<std::vector<FileChange>> ReadFiles(const ApiContext& api, const Json& files) {
  std::vector<FileChange> out;
  Json errors = Json::array();
  if (files.size() > limits::kRunFiles) {
    return Problem(422, "too-many-files", fmt::format("at most {} files and folders, those above a file too", limits::kRunFiles));
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Json& item = files[i];
    const std::string at = "/files/" + std::to_string(i);
    const auto wrong = [&](std::string_view message, const std::string& member = "") {
      if (errors.size() < 100) errors.push_back(ErrorItem("bad-file", message, member.empty() ? at : at + "/" + member));
    };
    if (!item.is_object() || !item.contains("path") || !item["path"].is_string()) {
      wrong("a file is {\"path\", \"hash\", \"size\", \"mode\"?}, a folder {\"path\", \"dir\": true, \"mode\"?}");
      continue;
    }
    FileChange change;
    change.path = item["path"];
    const bool mode_fits = !item.contains("mode") || (item["mode"].is_number_integer() && item["mode"] >= 0 && item["mode"] <= 0777);
    if (!mode_fits) {
      wrong("'" + change.path + "': mode is a number from 0 to 511 (octal 777)", "mode");
      continue;
    }
    if (item.contains("dir")) {
      if (item["dir"] != Json(true) || item.contains("hash") || item.contains("size")) {
        wrong("'" + change.path + "': a folder is {\"path\", \"dir\": true, \"mode\"?}", "dir");
        continue;
      }
      change.is_dir = true;
      change.mode = item.value("mode", 0755);
      out.push_back(std::move(change));
      continue;
    }
    const auto hash =
        item.contains("hash") && item["hash"].is_string() ? HashFromHex(item["hash"].get_ref<const std::string&>()) : std::nullopt;
    if (!hash) {
      wrong("'" + change.path + "': hash is the SHA-256 of its content, 64 hex digits", "hash");
      continue;
    }
    change.hash = hash;
    change.mode = item.value("mode", 0644);
    auto size = api.contents.SizeOf(api.store, *hash);
    if (!size && size.code() != Code::kNotFound) return ProblemOf(size.error());
    if (!size) {
      wrong("'" + change.path + "': its content is not stored: PUT /v1/contents/" + ToHex(*hash) + " first", "hash");
      continue;
    }
    if (item.contains("size") && (!item["size"].is_number_integer() || item["size"] != *size)) {
      wrong(fmt::format("'{}': the stored content has {} bytes", change.path, *size), "size");
      continue;
    }
    change.size = *size;
    out.push_back(std::move(change));
  }
  if (!errors.empty()) return Problem(422, "invalid-files", "some files of the run do not fit", std::move(errors));
  return out;
}

OrRefusal<CheckedSubmission> CheckSubmission(const ApiContext& api, const Submission& submission) {
  CheckedSubmission checked;
  checked.loaded = api.definitions.Load(submission.text, OptionsOf(submission, true));
  if (!checked.loaded->ok()) return InvalidWorkflow(submission.file, checked.loaded->findings);
  auto files = ReadFiles(api, submission.files);
  if (const auto* refusal = RefusalOf(files)) return *refusal;
  checked.files = std::move(ValueOf(files));
  return checked;
}

}  // namespace acl::coordinator
