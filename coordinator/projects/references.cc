#include "coordinator/projects/references.h"

#include <fmt/format.h>

#include <charconv>

#include "shared/journal/segment.h"
#include "shared/kinds/project/forms.h"

namespace acl::coordinator {
namespace {

// kNotFound: none that this project may know of.
Result<SubjectView> Look(Queries& queries, const ProjectId& project, const std::optional<SubjectId>& subject) {
  if (!subject) return Error{Code::kNotFound, "no id"};
  auto found = queries.GetSubject(*subject);
  if (found && found->project != project && found->project != kDefaultProject) return Error{Code::kNotFound, "another project's"};
  return found;
}

CheckedReference CheckRun(Queries& queries, const ProjectId& project, const std::string& id) {
  auto found = Look(queries, project, SubjectId::Parse(id));
  if (found && found->listing) return {"", "ok", "it is " + found->listing->status};
  if (found || found.code() == Code::kNotFound) return {"", "gone", "there is no such run"};
  return {"", "unchecked", found.message()};
}

CheckedReference CheckEvent(Queries& queries, const ProjectId& project, std::string_view text) {
  const auto slash = text.find('/');
  const auto subject = SubjectId::Parse(text.substr(0, slash));
  std::int64_t seq = 0;
  if (slash != std::string_view::npos) std::from_chars(text.data() + slash + 1, text.data() + text.size(), seq);
  if (!subject || seq < 1) return {"", "gone", "there is no such event"};
  if (auto of = Look(queries, project, subject); !of) {
    if (of.code() == Code::kNotFound) return {"", "gone", "there is no such event"};
    return {"", "unchecked", of.message()};
  }
  auto found = queries.Events(*subject, seq - 1, 1);
  if (!found) return {"", "unchecked", found.message()};
  if (!found->empty() && found->front().seq > seq) return {"", "stale", DroppedText(*subject, seq - 1, found->front().seq)};
  if (found->empty()) return {"", "gone", "there is no such event"};
  if (!found->front().payload && !found->front().offloaded) return {"", "stale", "its content was removed"};
  return {"", "ok", "it is " + found->front().type};
}

template <class One>
CheckedReference CheckOwn(const One* found, const std::string& id, const char* what) {
  if (found == nullptr) return {"", "gone", fmt::format("there is no {} {} in this project", what, id)};
  if (found->withdrawn) return {"", "stale", "it was withdrawn"};
  return {"", "ok", fmt::format("it is {}", NameOf(found->status))};
}

CheckedReference Check(Queries& queries, const ProjectId& project, const project::WorkSource& work, const std::string& reference) {
  const std::string_view kind = project::KindOfReference(reference);
  const std::string rest = reference.size() > kind.size() ? reference.substr(kind.size() + 1) : "";
  if (kind == "run") return CheckRun(queries, project, rest);
  if (kind == "event") return CheckEvent(queries, project, rest);
  if (kind == "goal") return CheckOwn(work.GoalOf(rest), rest, "goal");
  if (kind == "task") return CheckOwn(work.TaskOf(rest), rest, "task");
  return {"", "unchecked", "it is outside: whoever reads it sees"};
}

}  // namespace

std::vector<CheckedReference> CheckReferences(Queries& queries, const ProjectId& project, const project::WorkSource& work,
                                              const std::vector<std::string>& references) {
  std::vector<CheckedReference> checked;
  for (const std::string& reference : references) {
    checked.push_back(Check(queries, project, work, reference));
    checked.back().reference = reference;
  }
  return checked;
}

Json ToJson(const std::vector<CheckedReference>& checked) {
  Json list = Json::array();
  for (const CheckedReference& one : checked) list.push_back({{"reference", one.reference}, {"state", one.state}, {"why", one.why}});
  return list;
}

}  // namespace acl::coordinator
