#include "cli/follow.h"

#include "cli/format.h"
#include "shared/base/clock.h"

namespace acl::cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{40}, kLongestPause{1'000};
// How long an unreachable coordinator is waited for before giving up.
constexpr milliseconds kPatience{60'000};

bool MayPass(Code code) { return code == Code::kUnavailable || code == Code::kTimeout; }

class Progress {
 public:
  explicit Progress(Session* session) : session_(session) {}

  void Show(const Json& run) {
    const Json state = run.contains("state") ? run["state"] : Json::object();
    if (auto uncertain = run.find("uncertain"); uncertain != run.end() && !uncertain->empty() && !std::exchange(told_, true)) {
      session_->Note("airun: the run waits for a person: nobody knows whether step '" + uncertain->front().get<std::string>() +
                     "' happened; decide by\n  airun step resolve " + TextOf(run, "id") + " " + uncertain->front().get<std::string>() +
                     " --decision completed|failed|retry");
    }
    const bool paused = TextOf(run, "status") == "PAUSED";
    if (paused && !std::exchange(paused_, true)) {
      session_->Note(TextOf(run, "waiting") == "approval"
                         ? "airun: the run waits for a person to approve: airun approvals list; or\n  airun workflow resume " +
                               TextOf(run, "id") + " --decision approve|reject"
                         : "airun: the run is paused; airun workflow resume " + TextOf(run, "id"));
    }
    paused_ = paused;
    std::string line = TextOf(run, "status") + " " + TextOf(run, "steps_completed") + "/" + TextOf(run, "steps_total");
    if (session_->environment.err_is_terminal && line != std::exchange(shown_, line)) session_->Note(line);
  }

 private:
  Session* session_;
  std::string shown_;
  bool told_ = false, paused_ = false;
};

// Whether an event can change what Progress shows, or is the end.
bool IsNews(const Session& session, const std::string& type) {
  return session.environment.err_is_terminal || type == "end" || type.starts_with("workflow.") || type == "step.uncertain" ||
         type == "step.approval_requested";
}

// Listens until there is news; true if there was some. Adds what it took to `waited`. Where there is no stream the caller asks again.
bool AwaitNews(Session* session, ApiClient& api, const std::string& id, const Json& run, milliseconds at_most, milliseconds* waited) {
  const SystemClock clock;
  const SteadyTime before = clock.Steady();
  bool news = false;
  const std::string last = TextOf(run, "head_seq");
  const auto take = [&](const ApiClient::ServerEvent& event) {
    news = IsNews(*session, event.event);
    return !news;
  };
  Status streamed = api.Events("/v1/workflows/" + id + "/events?after_seq=" + last, last, take, at_most);
  if (streamed || MayPass(streamed.code())) *waited += std::chrono::duration_cast<milliseconds>(clock.Steady() - before);
  return news;
}

}  // namespace

bool IsClosed(const Json& run) {
  if (auto closed = run.find("closed"); closed != run.end() && closed->is_boolean()) return closed->get<bool>();
  return run.contains("state") && TextOf(run["state"], "name") == "closed";
}

Result<Json> WaitForEnd(Session* session, const std::string& asked, milliseconds timeout) {
  auto api = session->Api();
  if (!api) return api.error();
  Progress progress(session);
  milliseconds waited{0}, pause = kFirstPause, away{0};
  std::string id = asked;
  while (true) {
    auto run = (*api)->Get("/v1/workflows/" + id);
    if (run) {
      away = milliseconds(0);
      if (IsClosed(*run)) {
        const std::string next = TextOf(*run, "continued_as");
        if (next.empty()) return run;
        session->Note("airun: run " + id + " goes on as run " + next);
        id = next;
        continue;
      }
      progress.Show(*run);
    } else if (run.code() == Code::kNotFound && id != asked && away < kPatience) {  // it is being made
      away += pause;
    } else {
      if (!MayPass(run.code()) || away >= kPatience) return run;
      if (away.count() == 0) session->Note("airun: " + run.message() + "; trying again");
      away += pause;
    }
    if (timeout.count() > 0 && waited >= timeout)
      return Error{Code::kTimeout, "run " + id + " has not ended in time; it goes on: airun workflow status " + id};
    if (run && AwaitNews(session, **api, id, *run, timeout.count() > 0 ? timeout - waited : milliseconds(0), &waited)) {
      pause = kFirstPause;
      continue;
    }
    if (timeout.count() > 0) pause = std::clamp(timeout - waited, milliseconds(0), pause);
    session->environment.sleep(pause);
    waited += pause;
    pause = std::min(kLongestPause, pause + pause / 2);
  }
}

Status FollowEvents(Session* session, const std::string& id, std::int64_t after_seq, const std::function<void(const Json& event)>& take) {
  auto api = session->Api();
  if (!api) return api.error();
  std::int64_t last = after_seq;
  milliseconds pause = kFirstPause, away{0};
  while (true) {
    bool got = false;
    Status streamed = (*api)->Events("/v1/workflows/" + id + "/events?after_seq=" + std::to_string(last), std::to_string(last),
                                     [&](const ApiClient::ServerEvent& event) {
                                       auto body = ParseJson(event.data, kAnswerJson);
                                       if (!body || !body->is_object()) return true;
                                       if (body->contains("dropped")) session->Note(TextOf((*body)["dropped"], "detail"));
                                       if (!body->contains("event_seq")) return true;
                                       const std::int64_t seq = IntOf(*body, "event_seq");
                                       if (seq <= last) return true;
                                       last = seq;
                                       got = true;
                                       take(*body);
                                       return true;
                                     });
    if (!streamed && !MayPass(streamed.code())) return streamed;
    auto run = (*api)->Get("/v1/workflows/" + id);
    if (run) {
      away = milliseconds(0);
      if (IsClosed(*run) && last >= IntOf(*run, "head_seq", last)) return {};
      if (IsClosed(*run) && !got && streamed.ok()) return {};
    } else if (!MayPass(run.code()) || away >= kPatience) {
      return run.error();
    }
    pause = got ? kFirstPause : std::min(kLongestPause, pause * 2);
    session->environment.sleep(pause);
    away += pause;
  }
}

}  // namespace acl::cli
