#include "shared/kinds/project/project_kind.h"

#include <fmt/format.h>

#include "shared/base/mutant.h"
#include "shared/kernel/post.h"
#include "shared/kinds/project/agenda.h"
#include "shared/kinds/project/evolve.h"

namespace acl::project {
namespace {

constexpr std::string_view kClaimTimer = "claim:";  // then the task's id

// What the events promise and what they end: one timer for each claim that may run out.
void SetTimers(Decision& decision) {
  for (const EventDraft& draft : decision.events) {
    if (!draft.facts.contains("task_id") || draft.type == events::kRefused) continue;
    const std::string timer = std::string(kClaimTimer) + draft.facts.at("task_id").get<std::string>();
    if (const auto claim = draft.facts.find("claim"); claim != draft.facts.end()) {
      std::erase(decision.timers_cleared, timer);
      const auto expires = claim->contains("expires") ? ParseWallTime(claim->at("expires").get_ref<const std::string&>()) : std::nullopt;
      if (expires && !Mutant("claim_never_expires")) decision.timers_set.push_back({timer, *expires});
    } else if (draft.type == events::kTaskPaused || draft.type == events::kTaskBlocked || draft.type == events::kTaskCompleted ||
               draft.type == events::kTaskWithdrawn || draft.type == events::kTaskUnblocked) {
      decision.timers_cleared.push_back(timer);
    }
  }
}

Decision DecisionOf(Decided decided) {
  Decision decision;
  decision.events = std::move(decided.events);
  decision.outbox = std::move(decided.outbox);
  SetTimers(decision);
  return decision;
}

Json ShownTask(const Task& task) {
  return {{"task_id", task.id},
          {"goal_id", task.goal},
          {"title", task.title},
          {"status", NameOf(task.status)},
          {"withdrawn", task.withdrawn},
          {"priority", task.priority},
          {"acceptance_criteria", task.acceptance_criteria},
          {"depends_on", task.depends_on},
          {"holder", task.claim ? Json(task.claim->holder) : Json()},
          {"updated_at", FormatWallTime(task.updated_at)}};
}

Json ShownGoal(const Goal& goal) {
  return {{"goal_id", goal.id},          {"text", goal.text},
          {"priority", goal.priority},   {"status", NameOf(goal.status)},
          {"withdrawn", goal.withdrawn}, {"created_at", FormatWallTime(goal.created_at)}};
}

Json ShownCheckpoint(const Checkpoint& checkpoint) {
  return {{"task_id", checkpoint.task},        {"where_we_left_off", checkpoint.where_we_left_off},
          {"next_step", checkpoint.next_step}, {"needed_context_refs", checkpoint.context_refs},
          {"blockers", checkpoint.blockers},   {"timestamp", FormatWallTime(checkpoint.timestamp)}};
}

template <class T>
ShownRow RowOf(const char* table, const std::string& id, const std::map<std::string, T>& there, Json (*columns)(const T&)) {
  const auto one = there.find(id);
  return {table, id, one == there.end() ? std::nullopt : std::optional(DumpJson(columns(one->second)))};
}

class ProjectKind final : public CommandKind {
 public:
  std::string_view Name() const override { return kKindName; }

  Decision Decide(const Document& state, const Input& input, WallTime now) const override {
    const auto* said = std::get_if<InboxInput>(&input);
    if (said == nullptr) return {};
    if (said->kind == "timer") return ClaimRanOut(state, said->payload, now);
    if (said->kind == kRunEndedPost) return RunEnded(state, said->payload, now);
    if (said->kind == "quarantine_released") {
      Decision decision;
      if (state.Has(kProjectKey)) decision.events.push_back(ReleasedBy(events::kReleased, said->payload, now));
      return decision;
    }
    return {};  // read, and of no meaning here
  }

  std::shared_ptr<Aid> MakeAid() const override { return std::make_shared<Agenda>(); }

  Answered Answer(const Document& state, const Json& command, WallTime now, Aid* aid) const override {
    if (command.contains("expected_seq") && command.at("expected_seq") != command.at("head_seq")) {
      const Refusal changed{Code::kConflict,
                            "CHANGED",
                            fmt::format("the project is at event {}, not at {}: look at what changed, then say it again",
                                        command.at("head_seq").get<std::int64_t>(), command.at("expected_seq").get<std::int64_t>()),
                            {{"head_seq", command.at("head_seq")}, {"expected_seq", command.at("expected_seq")}}};
      return {{}, WordAnswer(changed, {})};
    }
    Decided decided =
        project::Decide(state, {command.at("name"), command.at("arguments"), command.at("by")}, now, static_cast<Agenda*>(aid));
    Json answer = WordAnswer(decided.refused, std::move(decided.answer));
    return {DecisionOf(std::move(decided)), std::move(answer)};
  }

  Delta Evolve(const Document& state, const EventDraft& draft) const override { return project::Evolve(state, draft); }

  Next WhatNext(const Document&, const NextContext&) const override { return WaitsForCommand(); }

  std::optional<ShownRow> Show(std::string_view key, const Json* value) const override {
    const auto colon = key.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string id(key.substr(colon + 1));
    Work one;
    if (value != nullptr) PutEntry(std::string(key), value, one);
    if (key.starts_with("goal:")) return RowOf("goals", id, one.goals, ShownGoal);
    if (key.starts_with("task:")) return RowOf("tasks", id, one.tasks, ShownTask);
    if (key.starts_with("checkpoint:")) return RowOf("checkpoints", id, one.checkpoints, ShownCheckpoint);
    return std::nullopt;
  }

 private:
  static Decision RunEnded(const Document& state, const Json& payload, WallTime now) {
    const Json said = payload.value("said", Json::object());
    Json arguments = {{"task_id", said.value("task_id", "")},
                      {"run_id", said.value("run_id", "")},
                      {"status", said.value("status", "")},
                      {"head_seq", payload.value("head_seq", std::int64_t(0))},
                      {"run_root", payload.value("state_root", "")}};
    if (said.contains("error")) arguments["error"] = said.at("error");
    return DecisionOf(project::Decide(state, {"end_run", std::move(arguments), "the run"}, now));
  }

  static Decision ClaimRanOut(const Document& state, const Json& payload, WallTime now) {
    const std::string timer = payload.value("timer_id", "");
    if (!timer.starts_with(kClaimTimer)) return {};
    const std::string id = timer.substr(kClaimTimer.size());
    const auto task = FindTask(state, id);
    if (!task || !task->claim) return {};
    return DecisionOf(project::Decide(state, {"expire_claim", {{"task_id", id}, {"token", task->claim->token}}, "the clock"}, now));
  }
};

}  // namespace

std::vector<TimerRow> ClaimTimers(const Document& state) {
  std::vector<TimerRow> timers;
  for (const auto& [id, task] : ReadWork(state).tasks) {
    if (task.claim && task.claim->expires) timers.push_back({std::string(kClaimTimer) + id, *task.claim->expires});
  }
  return timers;
}

std::shared_ptr<const CommandKind> MakeProjectKind() { return std::make_shared<ProjectKind>(); }

Json CommandToJson(const Command& command, std::optional<std::int64_t> expected_seq) {
  Json object = {{"name", command.name}, {"arguments", command.arguments}, {"by", command.by}};
  if (expected_seq) object["expected_seq"] = *expected_seq;
  return object;
}

}  // namespace acl::project
