// GET and POST /v1/projects/{project}/undo: which command was the last, and taking it back by a compensating one.
#include <fmt/format.h>

#include "coordinator/api/projects.h"
#include "shared/base/limits.h"
#include "shared/kinds/project/undo.h"

namespace acl::coordinator {
namespace {

// Refusals that stand behind the last command; who tried more often than that reads the journal.
constexpr int kMostBehind = 200;

struct LastOf {
  ProjectDesk::Listed project;
  std::int64_t head_seq = 0;
  std::optional<Event> event;  // none: it is further back
};

OrRefusal<LastOf> ReadLast(const ApiContext& api, const HttpRequest& request) {
  auto project = ReadProject(api, request);
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  LastOf last{std::move(ValueOf(project)), 0, {}};
  auto view = api.projects->Read(last.project.id);
  if (!view) return ProblemOfDesk(view.error());
  last.head_seq = (*view)->head_seq;
  auto events = api.queries.Events(SubjectId{last.project.id.uuid}, std::max<std::int64_t>(0, last.head_seq - kMostBehind), kMostBehind,
                                   limits::kPageBytes);
  if (!events) return ProblemOf(events.error());
  std::erase_if(*events, [&](const Event& one) { return one.seq > last.head_seq; });
  if (const Event* event = project::LastCommand(*events)) last.event = *event;
  return last;
}

Json AnswerOf(const LastOf& last) {
  Json answer = {{"schema_version", kProjectSchemaVersion}, {"project_id", last.project.id.ToString()}, {"head_seq", last.head_seq}};
  if (last.event) answer["last"] = project::CommandSaid(*last.event);
  return answer;
}

HttpResponse Show(const ApiContext& api, const HttpRequest& request) {
  auto last = ReadLast(api, request);
  if (const auto* refusal = RefusalOf(last)) return *refusal;
  return HttpResponse::OfJson(200, AnswerOf(ValueOf(last)));
}

HttpResponse Undo(const ApiContext& api, const HttpRequest& request) {
  auto body = ReadAnyObject(request);
  if (const auto* refusal = RefusalOf(body)) return *refusal;
  Json arguments = ValueOf(body);
  const std::string by = arguments.value("by", request.principal);
  arguments.erase("by");
  auto wrong = CheckArguments(project::UndoOperation(), arguments);
  if (by.empty()) wrong.push_back({"missing-member", "'by' is missing: the name of the person or agent who says so", "/by"});
  if (!arguments.contains("event_seq"))
    wrong.push_back(
        {"missing-member", "'event_seq' is missing: the event that is to be undone (GET says which is the last)", "/event_seq"});
  if (!wrong.empty()) return WrongArguments(422, "invalid-request", wrong);
  auto read = ReadLast(api, request);
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  const LastOf& last = ValueOf(read);
  if (!last.event || last.event->seq != arguments["event_seq"]) {
    const std::string is = last.event ? fmt::format("event {} ({})", last.event->seq, last.event->type) : "further back";
    return Problem(409, "changed", fmt::format("the last command is not event {}: it is {}", arguments["event_seq"].dump(), is),
                   Json::array(), AnswerOf(last));
  }
  auto before = api.projects->ReadAt(last.project.id, std::max<std::int64_t>(1, last.event->seq - 1), std::nullopt);
  if (!before) return ProblemOfDesk(before.error());
  project::Inverse inverse = project::InverseOf(*last.event, (*before)->work(), by, arguments.value("reason", ""));
  ProjectDesk::Done done{.project = last.project.id, .head_seq = last.head_seq, .refused = std::move(inverse.refused)};
  if (done.refused) return RefusedCommand(done);
  ProjectDesk::Asked asked;
  asked.command = std::move(*inverse.command);
  asked.expected_seq = last.head_seq;
  const std::string name = asked.command.name;
  auto executed = api.projects->Execute(last.project.id, asked);
  if (!executed) return ProblemOfDesk(executed.error());
  if (executed->refused) return RefusedCommand(*executed);
  return HttpResponse::OfJson(200, {{"schema_version", kProjectSchemaVersion},
                                    {"project_id", last.project.id.ToString()},
                                    {"event_seq", executed->head_seq},
                                    {"undone", project::CommandSaid(*last.event)},
                                    {"command", name},
                                    {"answer", std::move(executed->answer)}});
}

}  // namespace

void AddUndoRoutes(Router& router, const ApiContext& api) {
  const RouteOptions options{.max_body = 16u << 10, .content_types = {"application/json"}, .body_required = true};
  const std::string pattern = project::UndoOperation().Pattern();
  router.Add("GET", pattern, {}, [api](const HttpRequest& r) { return Show(api, r); });
  router.Add("POST", pattern, options, [api](const HttpRequest& r) { return Undo(api, r); });
}

}  // namespace acl::coordinator
