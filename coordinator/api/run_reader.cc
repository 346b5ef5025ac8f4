#include "coordinator/api/run_reader.h"

#include "coordinator/state_reader.h"
#include "shared/kernel/subject_part.h"

namespace acl::coordinator {
namespace {

Result<Document> ReadState(const ApiContext& api, const SubjectId& id, AnswerBudget::Part& memory) {
  return ReadStateOf(
      api.queries, api.store, id, [&](std::size_t bytes) { return memory.Take(bytes); }, [&](std::size_t bytes) { memory.Keep(bytes); });
}

}  // namespace

Result<ReadRunState> ReadRun(const ApiContext& api, const SubjectId& id) { return ReadStateOfKind(api, id, api.workflow_kind.Name()); }

Result<ReadRunState> ReadStateOfKind(const ApiContext& api, const SubjectId& id, std::string_view kind) {
  auto listed = api.queries.GetSubject(id);
  if (!listed) return listed.error();
  if (listed->kind != kind) return Error{Code::kNotFound, NoSuchRun(id.ToString())};
  ReadRunState run{AnswerBudget::Part(api.answers), std::move(*listed), {}, ""};
  auto state = ReadState(api, id, run.memory);
  if (!state) {
    if (state.code() != Code::kCorrupt && state.code() != Code::kNotFound) return state.error();
    run.damage = state.message();
    return run;
  }
  run.state = std::move(*state);
  return run;
}

}  // namespace acl::coordinator
