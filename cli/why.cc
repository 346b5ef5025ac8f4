#include "cli/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/format.h"

namespace acl::cli {

namespace {

constexpr std::size_t kMostErrorsShown = 3;

const Json& ListOf(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto it = object.find(key);
  return it != object.end() && it->is_array() ? *it : kNone;
}

class Diagnosis {
 public:
  Diagnosis(const Json& run, const Json& queues, const Json& workers)
      : run_(run), queues_(queues), workers_(workers), state_(run.value("state", Json::object())), id_(TextOf(run, "id")) {}

  Why Make() {
    if (run_.value("closed", false)) {
      Ended();
      return std::move(why_);
    }
    const std::string name = TextOf(state_, "name");
    if (name == "quarantined") {
      Quarantined();
    } else if (name == "leased") {
      Held();
    } else if (name == "ready") {
      Ready();
    } else if (name == "paused" || TextOf(state_, "blocked_on") == "paused") {
      Paused();
    } else {
      Waiting(TextOf(state_, "blocked_on"));
    }
    Errors();
    if (const std::string deaths = TextOf(state_, "worker_deaths"); !deaths.empty())
      Because(deaths + " workers in a row died with it and no step completed: it is granted with care");
    return std::move(why_);
  }

 private:
  void Because(std::string line) { why_.because.push_back(std::move(line)); }
  void Do(std::string command) { why_.commands.push_back(std::move(command)); }
  std::string Since() const { return ShortTime(TextOf(state_, "since")); }

  void Ended() {
    why_.what = "it has ended: " + TextOf(run_, "status");
    if (const std::string error = TextOf(run_, "error"); !error.empty()) Because(error);
    why_.wakes = "nothing: an ended run stays as it is";
    Do("airun workflow result " + id_);
  }

  void Quarantined() {
    why_.stuck = true;
    why_.what = "it is quarantined since " + Since() + ": its journal or state does not verify, or it kills its workers";
    why_.wakes = "a person who releases it";
    Do("airun workflow quarantine inspect " + id_);
    Do("airun workflow quarantine release " + id_);
  }

  void Held() {
    why_.what = fmt::format("worker {} has it since {}, under token {}", TextOf(state_, "holder"), Since(), TextOf(run_, "fencing_token"));
    for (const Json& step : ListOf(run_, "steps")) {
      if (TextOf(step, "status") == "RUNNING")
        Because("step " + TextOf(step, "name") + " runs since " + ShortTime(TextOf(step, "started_at")));
    }
    why_.wakes = "the end of a step; if the worker dies, another has it when the lease has run out";
    Do("airun workflow events " + id_ + " --follow");
  }

  // Living workers of a queue, and whether one of them could take more.
  struct Served {
    int alive = 0;
    bool has_room = false;
  };
  Served WorkersOf(const std::string& queue) const {
    Served served;
    for (const Json& worker : workers_) {
      const Json& takes = ListOf(worker, "queues");
      if (TextOf(worker, "dead") == "true" || std::find(takes.begin(), takes.end(), Json(queue)) == takes.end()) continue;
      ++served.alive;
      served.has_room |= IntOf(worker, "leases_held") < IntOf(worker, "slots");
    }
    return served;
  }

  void Queued(const std::string& queue) {
    const Served served = WorkersOf(queue);
    for (const Json& row : queues_) {
      if (TextOf(row, "queue") == queue)
        Because(fmt::format("queue '{}': {} wait, the oldest for {:.0f} s", queue, IntOf(row, "ready"), row.value("oldest_seconds", 0.0)));
    }
    if (served.alive == 0) {
      why_.stuck = true;
      Because("no living worker takes from queue '" + queue + "'");
      Do("acl-worker --queues " + queue + "      (a pool of the chart with queues: [" + queue + "])");
      Do("airun workflow cancel " + id_ + "      (if the name of the queue is wrong)");
    } else if (!served.has_room) {
      Because(fmt::format("its {} worker(s) hold as much as they may", served.alive));
      Do("airun top      (more workers of that queue, or more runs and slots in each)");
    } else {
      Because(fmt::format("{} worker(s) of that queue live and have room", served.alive));
      Do("airun worker list      (a newer version, where a newer program wrote to it)");
    }
  }

  void Ready() {
    const std::string queue = TextOf(run_, "queue");
    why_.what = "it has been ready since " + Since() + " and waits for a worker of queue '" + queue + "'";
    why_.wakes = "a worker that takes it";
    Queued(queue);
  }

  void Paused() {
    why_.stuck = true;
    why_.what = "somebody paused it, " + Since();
    why_.wakes = "airun workflow resume";
    Do("airun workflow resume " + id_);
  }

  void Waiting(const std::string& on) {
    why_.what = "it waits" + (on.empty() ? std::string() : " for: " + on) + ", since " + Since();
    if (on == "dispatch") return Dispatches();
    if (on == "uncertain") return Uncertain();
    if (on == "signal" || on == "approval") return Person(on);
    if (on == "child") return Child();
    if (on == "memory") return Memory();
    const std::string wake = TextOf(state_, "next_wake");
    why_.wakes = wake.empty() ? "an answer to what it waits for" : "its time, " + ShortTime(wake);
    why_.stuck = wake.empty() && on.empty();
    for (const Json& step : ListOf(run_, "steps")) {
      if (const std::string due = TextOf(step, "due_at"); !due.empty())
        Because("step " + TextOf(step, "name") + " until " + ShortTime(due));
      if (const std::string retry = TextOf(step, "next_retry"); !retry.empty())
        Because("step " + TextOf(step, "name") + " is tried again at " + ShortTime(retry));
    }
    Do("airun workflow status " + id_);
  }

  void Dispatches() {
    why_.wakes = "the end of a step on another queue";
    for (const Json& dispatch : ListOf(run_, "dispatches")) {
      const std::string step = TextOf(dispatch, "step_id"), queue = TextOf(dispatch, "queue");
      if (TextOf(dispatch, "state") == "started") {
        Because("step " + step + " is run by " + TextOf(dispatch, "holder") + " since " + ShortTime(TextOf(dispatch, "started_at")));
      } else if (TextOf(dispatch, "state") == "queued") {
        Because("step " + step + " waits for a worker since " + ShortTime(TextOf(dispatch, "queued_at")));
        Queued(queue);
      }
    }
  }

  void Uncertain() {
    why_.stuck = true;
    why_.wakes = "a person who says what happened";
    for (const Json& step : ListOf(run_, "uncertain")) {
      const std::string name = step.is_string() ? step.get<std::string>() : step.dump();
      Because("step " + name + ": its worker was gone while a call was out that may not be repeated blindly");
      Do("airun step show " + id_ + " " + name);
      Do("airun step resolve " + id_ + " " + name + " --decision completed|failed|retry");
    }
  }

  void Person(const std::string& on) {
    why_.stuck = true;
    for (const Json& step : ListOf(run_, "steps")) {
      const std::string signal = TextOf(step, "signal"), approval = TextOf(step, "approval");
      if (TextOf(step, "status") != "WAITING") continue;
      if (on == "signal" && !signal.empty()) {
        Because("step " + TextOf(step, "name") + " waits for the signal '" + signal + "'");
        Do("airun workflow signal " + id_ + " " + signal);
      }
      if (on == "approval") Because("step " + TextOf(step, "name") + " waits for an approval");
    }
    why_.wakes = on == "signal" ? "the signal, or the step's time limit" : "a decision, or the approval's time limit";
    if (on == "approval") Do("airun approvals list");
  }

  void Child() {
    why_.wakes = "the end of the run it called";
    for (const Json& step : ListOf(run_, "steps")) {
      const std::string child = TextOf(step, "child");
      if (child.empty() || TextOf(step, "status") == "COMPLETED") continue;
      Because("step " + TextOf(step, "name") + " called run " + child);
      Do("airun why " + child);
    }
  }

  void Memory() {
    why_.stuck = true;
    why_.wakes = "a worker with more memory, which tries it again by itself";
    for (const Json& warning : ListOf(run_, "warnings"))
      if (warning.is_string()) Because(warning.get<std::string>());
    Do("airun worker list      (raise limits.memory of its pool, or MemoryMax= of its unit)");
  }

  // The newest errors of steps that are not over.
  void Errors() {
    std::vector<std::string> lines;
    for (const char* list : {"steps", "item_steps", "compensations"}) {
      for (const Json& step : ListOf(run_, list)) {
        const std::string error = TextOf(step, "error"),
                          name = TextOf(step, "name").empty() ? TextOf(step, "step_id") : TextOf(step, "name");
        if (!error.empty()) lines.push_back(fmt::format("step {}: {} (attempts: {})", name, Cut(error, 120), TextOf(step, "attempts")));
      }
    }
    for (std::size_t i = lines.size() > kMostErrorsShown ? lines.size() - kMostErrorsShown : 0; i < lines.size(); ++i) Because(lines[i]);
  }

  const Json &run_, &queues_, &workers_;
  const Json state_;
  const std::string id_;
  Why why_;
};

}  // namespace

Why WhyOf(const Json& run, const Json& queues, const Json& workers) { return Diagnosis(run, queues, workers).Make(); }

}  // namespace acl::cli
