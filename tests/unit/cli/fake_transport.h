#pragma once
// A scripted coordinator: answers by method and path, remembers what it was asked.

#include <deque>
#include <sstream>

#include "cli/app.h"

namespace acl::cli::test {

struct FakeServer {
  struct Answer {
    int status = 200;
    std::string body = "{}";
  };
  std::map<std::string, std::deque<Answer>> answers;  // "GET /v1/workflows"; the last one stays
  std::vector<ApiRequest> asked;
  bool down = false;

  void On(const std::string& what, int status, const Json& body) {
    answers[what].push_back({status, body.is_string() ? body.get<std::string>() : body.dump()});
  }

  Result<ApiReply> Reply(const ApiRequest& request) {
    asked.push_back(request);
    if (down) return Error{Code::kUnavailable, "cannot reach the coordinator"};
    auto it = answers.find(request.method + " " + request.path);
    if (it == answers.end()) it = answers.find(request.method + " " + request.path.substr(0, request.path.find('?')));
    if (it == answers.end()) return ApiReply{404, {}, R"({"code":"not-found","detail":"no such thing"})"};
    Answer answer = it->second.front();
    if (it->second.size() > 1) it->second.pop_front();
    return ApiReply{answer.status, {}, answer.body};
  }
};

class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(FakeServer* server) : server_(server) {}
  Result<ApiReply> Send(const ApiRequest& request) override { return server_->Reply(request); }
  Result<ApiReply> Stream(const ApiRequest& request, const std::function<bool(std::string_view)>& take) override {
    auto reply = server_->Reply(request);
    if (reply && reply->status == 200) {
      for (char c : reply->body)
        if (!take(std::string_view(&c, 1))) break;
      reply->body.clear();
    }
    return reply;
  }

 private:
  FakeServer* server_;
};

struct Outcome {
  int code = 0;
  std::string out, err;
};

struct Terminal {
  bool is_terminal = false;
  std::map<std::string, std::string> environment;
  std::chrono::milliseconds slept{0};
};

inline Outcome Airun(FakeServer* server, const std::vector<std::string>& arguments, Terminal* terminal = nullptr) {
  Terminal plain;
  if (!terminal) terminal = &plain;
  std::ostringstream out, err;
  Surroundings surroundings{
      out,
      err,
      terminal->is_terminal,
      false,
      [terminal](const std::string& name) { return terminal->environment.contains(name) ? terminal->environment[name] : std::string(); },
      [server](const std::string&) { return std::make_unique<FakeTransport>(server); },
      [terminal](std::chrono::milliseconds time) { terminal->slept += time; },
      "/nowhere/airun"};
  Outcome outcome;
  outcome.code = RunCli(arguments, std::move(surroundings));
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

}  // namespace acl::cli::test
