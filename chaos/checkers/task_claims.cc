#include "chaos/checkers/task_claims.h"

#include <fmt/format.h>

#include <set>

#include "shared/base/clock.h"

namespace acl::chaos {
namespace {

struct Held {
  std::string holder;
  std::int64_t token = 0, expires_us = 0;
};

class Folder {
 public:
  Folder(const std::string& project, const std::vector<ReceivedAnswer>& told) : project_(project) {
    for (const ReceivedAnswer& one : told) {
      const auto claim = one.answer.find("claim");
      if (one.project != project || claim == one.answer.end() || !claim->is_object()) continue;
      const std::string task = one.answer.value("task_id", one.arguments.value("task_id", ""));
      told_[{task, claim->value("token", std::int64_t(0))}].insert(one.by);
    }
  }

  TaskStates Run(const ProjectJournal& journal) {
    for (const ProjectEvent& event : journal.events) Take(event);
    for (const auto& [task, held] : held_) {
      Look(TaskStates::About::kTime, false, task, fmt::format("{} still holds it under token {} after the drain", held.holder, held.token));
    }
    return std::move(states_);
  }

 private:
  void Look(TaskStates::About about, bool holds, const std::string& key, const std::string& why) {
    states_.steps.push_back({about, project_ + " " + key, holds ? "" : why});
  }

  void Take(const ProjectEvent& event) {
    const std::string& type = event.type;
    const std::string task = event.Text("task_id");
    if (type == "task.added") {
      states_.tasks[task] = {event.Text("title"), "todo", ""};
    } else if (type == "task.started" || type == "task.reopened" || type == "task.claim_renewed") {
      Give(event, task);
    } else if (type == "task.claim_expired") {
      RunOut(event, task);
    } else if (type == "task.paused" || type == "task.blocked" || type == "task.completed") {
      ByItsHolder(event, task, true);
      Free(task, type == "task.paused" ? "todo" : type == "task.blocked" ? "blocked" : "done");
    } else if (type == "task.unblocked") {
      Free(task, "todo");
    } else if (type == "checkpoint.updated" || type == "task.blocker_added") {
      ByItsHolder(event, task, false);
    }
  }

  void Give(const ProjectEvent& event, const std::string& task) {
    const Json claim = event.facts.value("claim", Json::object());
    const bool renewed = event.type == "task.claim_renewed";
    const std::string by = event.Text("by");
    Held next{claim.value("holder", ""), claim.value("token", std::int64_t(0)), MicrosOf(claim.value("expires", ""))};
    const auto before = held_.find(task);
    const std::int64_t last = last_token_[task];
    std::string wrong;
    if (!renewed && before != held_.end())
      wrong = fmt::format("it is given to {} while {} holds it under token {}", by, before->second.holder, before->second.token);
    if (renewed && (before == held_.end() || before->second.holder != by)) wrong = fmt::format("{} renews what it does not hold", by);
    if (next.holder != by) wrong = fmt::format("{} takes it for {}", by, next.holder);
    if (renewed ? next.token < last : next.token <= last) wrong = fmt::format("token {} comes after token {}", next.token, last);
    for (const std::string& other : told_[{task, next.token}]) {
      if (other != by) wrong = fmt::format("{} was told to have token {}, which is {}'s", other, next.token, by);
    }
    Look(TaskStates::About::kClaim, wrong.empty(), KeyOf(event, task), wrong);
    last_token_[task] = next.token;
    states_.tasks[task].status = "doing";
    states_.tasks[task].holder = next.holder;
    held_[task] = std::move(next);
  }

  void RunOut(const ProjectEvent& event, const std::string& task) {
    const auto held = held_.find(task);
    std::string wrong;
    if (held == held_.end()) {
      wrong = "a claim runs out that nobody has";
    } else if (held->second.token != event.facts.value("token", std::int64_t(0))) {
      wrong = fmt::format("token {} runs out while token {} is held", event.facts.value("token", std::int64_t(0)), held->second.token);
    } else if (held->second.expires_us > event.at_us) {
      wrong = fmt::format("the claim of {} runs out {} us before its time", held->second.holder, held->second.expires_us - event.at_us);
    }
    Look(TaskStates::About::kTime, wrong.empty(), KeyOf(event, task), wrong);
    Free(task, event.facts.contains("blocker_id") ? "blocked" : "todo");
  }

  void ByItsHolder(const ProjectEvent& event, const std::string& task, bool must_hold) {
    const auto held = held_.find(task);
    const std::string by = event.Text("by");
    const bool holds = held == held_.end() ? !must_hold : held->second.holder == by;
    Look(TaskStates::About::kClaim, holds, KeyOf(event, task),
         fmt::format("{} is said by {}, and {} holds it", event.type, by, held == held_.end() ? "nobody" : held->second.holder));
  }

  void Free(const std::string& task, const char* status) {
    held_.erase(task);
    states_.tasks[task].status = status;
    states_.tasks[task].holder = "";
  }

  static std::string KeyOf(const ProjectEvent& event, const std::string& task) { return fmt::format("{} event {}", task, event.seq); }
  static std::int64_t MicrosOf(const std::string& time) {
    const auto parsed = ParseWallTime(time);
    return parsed ? acl::MicrosOf(*parsed) : 0;
  }

  const std::string project_;
  std::map<std::pair<std::string, std::int64_t>, std::set<std::string>> told_;  // by task and token: who was told to have it
  std::map<std::string, Held> held_;
  std::map<std::string, std::int64_t> last_token_;
  TaskStates states_;
};

}  // namespace

TaskStates FoldTasks(const std::string& project, const ProjectJournal& journal, const std::vector<ReceivedAnswer>& told) {
  return Folder(project, told).Run(journal);
}

}  // namespace acl::chaos
