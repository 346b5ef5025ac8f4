#include "shared/kinds/project/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace acl::project {
namespace {

Error Wrong(std::string what) { return {Code::kCorrupt, std::move(what)}; }

template <class T>
Status CheckEntry(const std::map<std::string, T>& all, std::string_view id, const Json& value) {
  const T& one = all.at(std::string(id));
  if (one.id != id) return Wrong(fmt::format("the entry of {} says that it is {}", id, one.id));
  if (value.at("status") != NameOf(one.status)) return Wrong(fmt::format("{} has status {}", id, DumpJson(value.at("status"))));
  return {};
}

class Checker {
 public:
  explicit Checker(const Document& state) : state_(state), work_(ReadWork(state)) {}

  Status Run() {
    Status ok = CheckEntries();
    if (ok) ok = CheckIds(work_.goals, 'g', work_.project.goals);
    if (ok) ok = CheckIds(work_.tasks, 't', work_.project.tasks);
    if (ok) ok = CheckOrders();
    for (const auto& [id, task] : work_.tasks) {
      if (ok) ok = CheckTask(task);
    }
    if (ok) ok = CheckOpenTasks();
    if (ok) ok = CheckCycles();
    return ok;
  }

 private:
  Status CheckEntries() {
    if (!state_.Has(kProjectKey)) return Wrong("there is no entry \"project\"");
    Status ok;
    state_.ForEach([&](const std::string& key, const Json& value) {
      if (key.starts_with("goal:")) {
        ok = CheckEntry(work_.goals, std::string_view(key).substr(5), value);
      } else if (key.starts_with("task:")) {
        ok = CheckEntry(work_.tasks, std::string_view(key).substr(5), value);
      } else if (key.starts_with("checkpoint:")) {
        ok = CheckCheckpoint(key.substr(11));
      } else if (key == kWatchersKey) {
        ok = CheckWatchers(value);
      } else if (key != kProjectKey) {
        ok = Wrong("no project has an entry \"" + key + "\"");
      }
      return ok.ok();
    });
    return ok;
  }

  static Status CheckWatchers(const Json& value) {
    std::set<std::string> seen;
    if (!value.is_array() || value.size() > kMostWatchers) return Wrong("\"watchers\" is no list, or too long");
    for (const Json& one : value)
      if (!one.is_string() || !SubjectId::Parse(one.get_ref<const std::string&>()) || !seen.insert(one).second)
        return Wrong("of the watchers one is no session, or stands there twice: " + DumpJson(one));
    return {};
  }

  // Ids are made one after the other, and nothing that has one ever goes.
  template <class T>
  static Status CheckIds(const std::map<std::string, T>& all, char letter, int made) {
    if (int(all.size()) != made)
      return Wrong(fmt::format("the project made {} of {}1, {}2 ..., and {} are there", made, letter, letter, all.size()));
    for (int n = 1; n <= made; ++n) {
      if (!all.contains(fmt::format("{}{}", letter, n)))
        return Wrong(fmt::format("{}{} is not there, of {} that were made", letter, n, made));
    }
    return {};
  }

  // What is sorted by the order of what happened happened once, and before now.
  Status CheckOrders() {
    std::set<std::int64_t> created;
    const auto within = [&](std::int64_t order) { return order >= 0 && order <= work_.project.order; };
    for (const auto& [id, goal] : work_.goals) {
      if (!within(goal.created_order) || !created.insert(goal.created_order).second) return Wrong(BadOrder(id, goal.created_order));
    }
    for (const auto& [id, task] : work_.tasks) {
      if (!within(task.created_order) || !created.insert(task.created_order).second) return Wrong(BadOrder(id, task.created_order));
      if (!within(task.started_order) || !within(task.blocked_order))
        return Wrong(BadOrder(id, std::max(task.started_order, task.blocked_order)));
    }
    for (const auto& [id, checkpoint] : work_.checkpoints) {
      if (!within(checkpoint.order)) return Wrong(BadOrder("the checkpoint of " + id, checkpoint.order));
    }
    return {};
  }
  std::string BadOrder(const std::string& id, std::int64_t order) const {
    return fmt::format("{} stands at {}, where something else stands or nothing has happened yet (the project is at {})", id, order,
                       work_.project.order);
  }

  Status CheckTask(const Task& task) {
    if (!work_.goals.contains(task.goal)) return Wrong(fmt::format("{} belongs to {}, which is not there", task.id, task.goal));
    const auto other_side = [&](const std::vector<std::string>& ids, std::vector<std::string> Task::*back, const char* word) -> Status {
      for (const std::string& id : ids) {
        const auto other = work_.tasks.find(id);
        if (other == work_.tasks.end()) return Wrong(fmt::format("{} {} {}, which is not there", task.id, word, id));
        const auto& known = other->second.*back;
        if (std::count(ids.begin(), ids.end(), id) != 1 || std::count(known.begin(), known.end(), task.id) != 1)
          return Wrong(fmt::format("{} {} {}, and {} does not say so, once", task.id, word, id, id));
      }
      return {};
    };
    if (Status ok = other_side(task.depends_on, &Task::needed_by, "depends on"); !ok) return ok;
    if (Status ok = other_side(task.needed_by, &Task::depends_on, "is needed by"); !ok) return ok;
    if (int(task.blockers.size()) > task.blockers_made)
      return Wrong(fmt::format("{} has {} blockers, of {} that were made", task.id, task.blockers.size(), task.blockers_made));
    if (!task.claim) return {};
    if (task.status != TaskStatus::kDoing || task.withdrawn)
      return Wrong(fmt::format("{} is held by {} and {}", task.id, task.claim->holder, task.withdrawn ? "withdrawn" : NameOf(task.status)));
    if (task.claim->token != task.claims)
      return Wrong(fmt::format("{} is held under token {}, and the last one given is {}", task.id, task.claim->token, task.claims));
    return {};
  }

  Status CheckCheckpoint(const std::string& id) {
    if (work_.checkpoints.at(id).task != id)
      return Wrong(fmt::format("the checkpoint of {} says that it is of {}", id, work_.checkpoints.at(id).task));
    if (!work_.tasks.contains(id)) return Wrong(fmt::format("there is a checkpoint of {}, which is not there", id));
    return {};
  }

  Status CheckOpenTasks() {
    std::map<std::string, int> open;
    for (const auto& [id, task] : work_.tasks) open[task.goal] += task.status != TaskStatus::kDone && !task.withdrawn ? 1 : 0;
    for (const auto& [id, goal] : work_.goals) {
      if (goal.open_tasks != open[id]) return Wrong(fmt::format("{} says {} open tasks, and has {}", id, goal.open_tasks, open[id]));
    }
    return {};
  }

  // Takes away what depends on nothing that is left; what then remains goes in circles. Without recursion: the graph is a user's.
  Status CheckCycles() {
    std::map<std::string, std::size_t> before;
    std::vector<std::string> free;
    for (const auto& [id, task] : work_.tasks) {
      before[id] = task.depends_on.size();
      if (task.depends_on.empty()) free.push_back(id);
    }
    while (!free.empty()) {
      const std::string id = std::move(free.back());
      free.pop_back();
      before.erase(id);
      for (const std::string& next : work_.tasks.at(id).needed_by) {
        if (--before.at(next) == 0) free.push_back(next);
      }
    }
    if (before.empty()) return {};
    // Each that is left depends on another that is: going on from any of them ends in a circle.
    std::vector<std::string> path{before.begin()->first};
    while (true) {
      const auto& on = work_.tasks.at(path.back()).depends_on;
      const std::string& next = *std::find_if(on.begin(), on.end(), [&](const std::string& id) { return before.contains(id); });
      const auto met = std::find(path.begin(), path.end(), next);
      const bool circle = met != path.end();
      if (circle) path.erase(path.begin(), met);
      path.push_back(next);
      if (!circle) continue;
      return Wrong(fmt::format("tasks depend on each other in a circle: {}", fmt::join(path, " -> ")));
    }
  }

  const Document& state_;
  const Work work_;
};

}  // namespace

Status CheckState(const Document& state) try { return Checker(state).Run(); } catch (const Json::exception& error) {
  return Wrong(std::string("an entry is not in a form that was ever written: ") + error.what());
}

}  // namespace acl::project
