#pragma once
// A scripted coordinator: answers by method and path, remembers what it was asked.

#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/app.h"

namespace acl::cli::test {

inline const std::string kId = "0193a000-0000-7000-8000-000000000001";

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

// A folder of one test's own, removed with it.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "acl-cli-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string Path(const std::string& name = "") const { return name.empty() ? path_.string() : (path_ / name).string(); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return Path(name);
  }

 private:
  std::filesystem::path path_;
};

struct Outcome {
  int code = 0;
  std::string out, err;
};

struct Terminal {
  bool is_terminal = false;
  std::map<std::string, std::string> environment;
  std::chrono::milliseconds slept{0};
  std::string in;  // what stdin gives
};

inline Outcome Airun(FakeServer* server, const std::vector<std::string>& arguments, Terminal* terminal = nullptr) {
  Terminal plain;
  if (!terminal) terminal = &plain;
  std::ostringstream out, err;
  std::istringstream in(terminal->in);
  Environment environment{
      out,
      err,
      terminal->is_terminal,
      false,
      [terminal](const std::string& name) { return terminal->environment.contains(name) ? terminal->environment[name] : std::string(); },
      [server](const std::string&) { return std::make_unique<FakeTransport>(server); },
      [terminal](std::chrono::milliseconds time) { terminal->slept += time; },
      "/nowhere/airun",
      &in};
  Outcome outcome;
  outcome.code = RunCli(arguments, std::move(environment));
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

}  // namespace acl::cli::test
