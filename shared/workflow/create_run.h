#pragma once
// From a loaded workflow to what KernelStore::Create takes: the first event of a run, its listing row, its place in the queue.

#include <optional>
#include <string>
#include <vector>

#include "shared/definition/workflow_definition.h"
#include "shared/kernel/kind.h"

namespace acl::workflow {

struct CreateRequest {
  SubjectId subject;  // the run's id
  ProjectId project = kDefaultProject;
  std::string definition_text;    // the file as submitted; kept in the listing, for people
  Json inputs = Json::object();   // checked against the spec's `inputs` here
  std::vector<FileChange> files;  // the workspace at start; contents are in the content store already
  std::string submitter;          // who asks; owner of the run if the file names none
  // Who else asks for it: those whose approval is not enough where a step says `allow_requester: false`. Kept of runs that ask for
  // approvals.
  std::vector<std::string> requesters;
  // The task of a project that the run is of: its end is said to the project (shared/kernel/post.h).
  struct Task {
    ProjectId project;
    std::string task_id;
  };
  std::optional<Task> task;
  // The run of which it does a CHILD step, or undoes one: its end is said to it (shared/kernel/create.h).
  struct Parent {
    SubjectId run;
    std::string step_id;
    int depth = 0;  // 1: the parent has none
  };
  std::optional<Parent> parent;
  // The run in whose place it goes on (next_run.h).
  struct Continued {
    std::string from, first;
    std::int64_t number = 1;     // of those behind the first
    Json kept = Json::object();  // entries of its state that go with it
  };
  std::optional<Continued> continued;
  std::string session_id;  // value of {{session_id}}; empty: the run's id
  TraceContext trace;      // of the request and its span, for logs and traces; may be empty
  Json labels = Json::object();
  std::optional<std::string> request_key;  // Idempotency-Key
  Hash256 request_hash{};                  // of the canonical request
};

// `kind` is the workflow kind (workflow_kind.h) that will run it. kInvalid, one finding a line: inputs that do not fit, a file path that
// is not relative and normalised, steps whose order does not work out (a cycle). `templates`: of this workflow and kind; what was made
// before makes it cheaper.
class FirstEventTemplates;
Result<CreateItem> MakeCreateItem(const SubjectKind& kind, const WorkflowDefinition& definition, CreateRequest request,
                                  FirstEventTemplates* event_templates = nullptr);

}  // namespace acl::workflow
