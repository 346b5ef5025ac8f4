// bench-load: keeps a number of runs in flight through the API and says how long each takes from its submission to its result.
//
//   bench-load --api HOST:PORT --in-flight N [--batch B] [--no-wait] [--capability ID] [--workflow FILE] [--warm-up S] [--window S]
//   [--rounds R]
//
// A run is one POST /v1/workflows with `Prefer: wait`, whose answer comes when the run has ended; with --batch B, B runs in one
// POST /v1/workflows/batch. What has not COMPLETED in the answer is an error and never counted.
// With --no-wait the answer comes when the run is there, and that is what is measured.
#include <sys/epoll.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iostream>
#include <sstream>

#include "shared/base/host_port.h"
#include "tests/bench/figures/rounds.h"
#include "tests/bench/load/connection.h"
#include "tests/bench/load/work.h"
#include "tests/bench/wire/arguments.h"

namespace acl::bench {
namespace {

constexpr std::int64_t kLongestAnswerNs = 60'000'000'000;
constexpr int kMostErrors = 20;

// How often `what` stands in `text`.
int Occurrences(std::string_view text, std::string_view what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

// Cheap, for it is done for every run: the members stand in compact JSON and none of our outputs looks like them.
bool AllCompleted(const Answer& answer, int batch) {
  return answer.status == 201 && Occurrences(answer.body, "\"status\":\"COMPLETED\"") == batch &&
         Occurrences(answer.body, "\"closed\":true") == batch;
}

bool AllTaken(const Answer& answer, int batch) { return answer.status == 201 && Occurrences(answer.body, "\"id\":\"") == batch; }

class Load {
 public:
  Load(const std::string& host, int port, int in_flight, int batch, bool wait, const std::string& workflow) : batch_(batch), wait_(wait) {
    Json body = {{"workflow", workflow}};
    if (batch > 0) {
      body["runs"] = Json::array();
      for (int i = 0; i < batch; ++i) body["runs"].push_back(Json::object());
    }
    request_ = RequestText("POST", batch > 0 ? "/v1/workflows/batch" : "/v1/workflows", host + ":" + std::to_string(port),
                           wait ? "Prefer: wait=30\r\n" : "", DumpJson(body));
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < in_flight / Runs(); ++i) {
      connections_.push_back(std::make_unique<Connection>(host, port));
      Watch(EPOLL_CTL_ADD, connections_.size() - 1, EPOLLIN);
    }
  }
  ~Load() { close(epoll_); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  int Run(Rounds rounds) {
    for (std::size_t i = 0; i < connections_.size(); ++i) Submit(i, rounds.Now());
    std::int64_t last_answer = rounds.Now();
    epoll_event events[256];
    while (waiting_ > 0) {
      const int n = epoll_wait(epoll_, events, 256, 20);
      const std::int64_t now = rounds.Now();
      over_ = rounds.Over(now) || errors_ >= kMostErrors;
      for (int i = 0; i < n; ++i) Serve(events[i], &rounds);
      if (n > 0) last_answer = now;
      if (now - last_answer > kLongestAnswerNs) throw std::runtime_error("no answer for a minute");
    }
    Rounds::Say(
        {{"mark", "done"}, {"submitted", submitted_}, {"completed", completed_}, {"errors", errors_}, {"first_error", first_error_}});
    return errors_ == 0 ? 0 : 1;
  }

 private:
  int Runs() const { return batch_ > 0 ? batch_ : 1; }

  void Watch(int operation, std::size_t i, std::uint32_t what) {
    epoll_event event{};
    event.events = what;
    event.data.u64 = i;
    epoll_ctl(epoll_, operation, connections_[i]->fd(), &event);
  }

  void Submit(std::size_t i, std::int64_t now) {
    ++waiting_;
    submitted_ += Runs();
    if (!connections_[i]->Send(request_, now)) Watch(EPOLL_CTL_MOD, i, EPOLLIN | EPOLLOUT);
  }

  void Serve(const epoll_event& event, Rounds* rounds) {
    const auto i = static_cast<std::size_t>(event.data.u64);
    if ((event.events & EPOLLOUT) != 0 && connections_[i]->SendMore()) Watch(EPOLL_CTL_MOD, i, EPOLLIN);
    const auto answer = connections_[i]->Read();
    if (!answer) return;
    --waiting_;
    const std::int64_t now = rounds->Now();
    if (wait_ ? AllCompleted(*answer, Runs()) : AllTaken(*answer, Runs())) {
      completed_ += Runs();
      rounds->Count(connections_[i]->began(), now, Runs(), wait_ ? Runs() * kSteps : 0);
    } else {
      ++errors_;
      if (first_error_.empty()) first_error_ = "HTTP " + std::to_string(answer->status) + " " + std::string(answer->body.substr(0, 500));
    }
    if (!over_) Submit(i, now);
  }

  int batch_;
  bool wait_;
  std::string request_;
  int epoll_ = -1;
  std::vector<std::unique_ptr<Connection>> connections_;
  int waiting_ = 0;
  bool over_ = false;
  std::int64_t submitted_ = 0, completed_ = 0;
  int errors_ = 0;
  std::string first_error_;
};

std::string WorkflowText(Arguments* arguments) {
  const std::string file = arguments->Text("workflow", ""), capability = arguments->Text("capability", "test.effect");
  if (file.empty()) return TenSteps(capability);
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || text.str().empty()) throw std::runtime_error("cannot read " + file);
  return text.str();
}

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  Arguments arguments(argc, argv, {"no-wait"});
  const auto api = ParseHostPort(arguments.Text("api", "127.0.0.1:8733"));
  if (!api) throw std::runtime_error("--api is HOST:PORT");
  const int in_flight = arguments.Int("in-flight", 1), batch = arguments.Int("batch", 0);
  if (in_flight < 1 || in_flight > 4096 || batch < 0 || (batch > 0 && in_flight % batch != 0)) {
    throw std::runtime_error("--in-flight is 1 to 4096, and a multiple of --batch");
  }
  const bool wait = !arguments.Has("no-wait");
  const std::string workflow = WorkflowText(&arguments);
  const Rounds rounds(arguments.Number("warm-up", 5), arguments.Number("window", 20), arguments.Int("rounds", 1));
  arguments.RefuseOthers();
  return Load(api->host, api->port, in_flight, batch, wait, workflow).Run(rounds);
}

}  // namespace
}  // namespace acl::bench

int main(int argc, char** argv) {
  try {
    return acl::bench::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench-load: " << error.what() << "\n";
    return 1;
  }
}
