#pragma once
// What a workflow is submitted with, read from a request: for runs (submit.cc) and for schedules (schedules.cc), so that both doors check
// the same.

#include "coordinator/api/request.h"
#include "shared/definition/loader.h"

namespace acl::coordinator {

inline constexpr std::size_t kMaxSubmitBytes = 16u << 20;

// The body: JSON with the members below, or the workflow's text itself as YAML.
struct Submission {
  std::string text;
  std::string file = "workflow";  // for messages
  Json inputs = Json::object();
  Json labels = Json::object();
  Json files = Json::array();
  bool strict = false, strict_templates = false, lenient_templates = false;
  Hash256 hash{};  // of what was asked, without the file's name
};

// 422 if the body has the member and it does not fit.
std::optional<HttpResponse> WrongType(const Json& body, const char* member, bool fits, const char* wanted);
// What is wrong with a run's labels, if anything.
std::optional<std::string> WrongLabels(const Json& labels);
// The body of POST /v1/workflows.
OrRefusal<Submission> ReadSubmission(const HttpRequest& request);
// Its members out of a larger object; `hash` is of the object without `file`.
OrRefusal<Submission> ReadSubmissionMembers(Json body);
// The files of the workspace at start; each content must be in the store already, with the size said here.
OrRefusal<std::vector<FileChange>> ReadFiles(const ApiContext& api, const Json& files);
// A submission checked: its workflow, and its files; their texts stay with it.
struct CachedDefinition;
struct CheckedSubmission {
  std::shared_ptr<const CachedDefinition> loaded;
  std::vector<FileChange> files;
};
OrRefusal<CheckedSubmission> CheckSubmission(const ApiContext& api, const Submission& submission);
LoadOptions OptionsOf(const Submission& submission, bool for_submit);
// 422 with every finding.
HttpResponse InvalidWorkflow(const std::string& file, const std::vector<Finding>& findings);

}  // namespace acl::coordinator
