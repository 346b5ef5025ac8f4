#include "tests/support/memory_projects.h"

#include <fmt/format.h>

#include "shared/base/canonical_json.h"
#include "shared/kinds/project/evolve.h"

namespace acl::test {

using coordinator::ProjectView;

std::string MemoryProjects::Canonical(const project::Command& command) {
  return CanonicalJson({{"name", command.name}, {"arguments", command.arguments}, {"by", command.by}});
}

Result<std::optional<coordinator::ProjectDesk::Done>> MemoryProjects::Known(const std::map<std::string, Answered>& answered,
                                                                            const Asked& asked) {
  const auto known = asked.request_key ? answered.find(*asked.request_key) : answered.end();
  if (known == answered.end()) return std::optional<Done>();
  if (known->second.asked != Canonical(asked.command)) return Error{Code::kInvalid, "the request key was used for another command"};
  Done done = known->second.done;
  done.replayed = true;
  return std::optional<Done>(std::move(done));
}

coordinator::ProjectDesk::Done MemoryProjects::Decide(Held& held, const Asked& asked) {
  Done done;
  done.project = held.listed.id;
  const auto head = std::int64_t(held.events.size());
  if (asked.expected_seq && *asked.expected_seq != head) {
    Json since = Json::array();
    for (std::int64_t i = std::max<std::int64_t>(0, *asked.expected_seq); i < head; ++i) since.push_back(held.events[std::size_t(i)].type);
    done.head_seq = head;
    done.refused = project::Refusal{Code::kConflict,
                                    "CHANGED",
                                    fmt::format("the project is at event {}, not {}", head, *asked.expected_seq),
                                    {{"events", std::move(since)}}};
    return done;
  }
  Document state = held.states.empty() ? Document() : held.states.back();
  project::Decided decided = project::Decide(state, asked.command, clock_.Wall());
  for (EventDraft& draft : decided.events) {
    Delta delta = project::Evolve(state, draft);
    if (!state.Apply(delta)) break;  // a refusal where there is no project
    held.events.push_back(std::move(draft));
    held.states.push_back(state);
  }
  done.head_seq = std::int64_t(held.events.size());
  done.answer = std::move(decided.answer);
  done.refused = std::move(decided.refused);
  return done;
}

Result<std::vector<coordinator::ProjectDesk::Listed>> MemoryProjects::List(const std::string& after, int max) {
  std::lock_guard lock(mutex_);
  if (fails) return *fails;
  std::map<std::string, Listed> by_name;
  for (const auto& [id, held] : projects_) {
    if (held.listed.name > after) by_name.emplace(held.listed.name, held.listed);
  }
  std::vector<Listed> listed;
  for (const auto& [name, one] : by_name) {
    if (int(listed.size()) < max) listed.push_back(one);
  }
  return listed;
}

Result<coordinator::ProjectDesk::Listed> MemoryProjects::Find(const std::string& id_or_name) {
  std::lock_guard lock(mutex_);
  if (fails) return *fails;
  for (const auto& [id, held] : projects_) {
    if (held.listed.name == id_or_name || id.ToString() == id_or_name) return held.listed;
  }
  return Error{Code::kNotFound, "no such project"};
}

Result<coordinator::ProjectDesk::Done> MemoryProjects::Execute(const ProjectId& project, const Asked& asked) {
  std::lock_guard lock(mutex_);
  if (fails) return *fails;
  const auto held = projects_.find(project);
  if (held == projects_.end()) return Error{Code::kNotFound, "no such project"};
  auto known = Known(held->second.answered, asked);
  if (!known) return known.error();
  if (*known) return std::move(**known);
  Done done = Decide(held->second, asked);
  if (asked.request_key) held->second.answered.emplace(*asked.request_key, Answered{Canonical(asked.command), done});
  return done;
}

Result<coordinator::ProjectDesk::Done> MemoryProjects::Create(const Asked& asked) {
  std::lock_guard lock(mutex_);
  if (fails) return *fails;
  auto known = Known(created_, asked);
  if (!known) return known.error();
  if (*known) return std::move(**known);
  Held fresh;
  fresh.listed = {ids_.New<ProjectId>(), asked.command.arguments.value("name", ""), clock_.Wall()};
  for (const auto& [id, held] : projects_) {
    if (held.listed.name != fresh.listed.name) continue;
    Done taken;
    taken.project = id;
    taken.head_seq = std::int64_t(held.events.size());
    taken.refused = project::Refusal{Code::kConflict, "EXISTS", "there is a project '" + held.listed.name + "' already", Json::object()};
    return taken;
  }
  Done done = Decide(fresh, asked);
  if (asked.request_key) created_.emplace(*asked.request_key, Answered{Canonical(asked.command), done});
  if (!done.refused) projects_.emplace(fresh.listed.id, std::move(fresh));
  return done;
}

Result<std::shared_ptr<const ProjectView>> MemoryProjects::ViewOf(const Held& held, std::size_t events) const {
  if (events == 0 || events > held.events.size()) {
    return Error{Code::kInvalid, fmt::format("the project was not there yet, or is not yet: its last event is {}", held.events.size())};
  }
  auto view = std::make_shared<ProjectView>();
  view->id = held.listed.id;
  view->head_seq = std::int64_t(events);
  view->head_at = held.events[events - 1].at;
  view->state = held.states[events - 1];
  view->work = std::make_shared<const project::Work>(project::ReadWork(view->state));
  return std::shared_ptr<const ProjectView>(std::move(view));
}

Result<std::shared_ptr<const ProjectView>> MemoryProjects::Read(const ProjectId& project) {
  return ReadAt(project, std::nullopt, std::nullopt);
}

Result<std::shared_ptr<const ProjectView>> MemoryProjects::ReadAt(const ProjectId& project, std::optional<std::int64_t> at_seq,
                                                                  std::optional<WallTime> at_time) {
  std::lock_guard lock(mutex_);
  if (fails) return *fails;
  const auto found = projects_.find(project);
  if (found == projects_.end()) return Error{Code::kNotFound, "no such project"};
  const Held& held = found->second;
  std::size_t events = held.events.size();
  if (at_seq) events = std::size_t(std::max<std::int64_t>(0, *at_seq));
  if (at_time) {
    events = 0;
    while (events < held.events.size() && held.events[events].at <= *at_time) ++events;
  }
  return ViewOf(held, events);
}

}  // namespace acl::test
