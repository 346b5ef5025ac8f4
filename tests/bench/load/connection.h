#pragma once
// One keep-alive HTTP/1.1 connection that sends the same request again and again: its bytes are made once, the answers are read with as
// little work as can be, for this client runs on the machine that is measured.

#include <cstdint>
#include <optional>
#include <string>

namespace acl::bench {

struct Answer {
  int status = 0;
  std::string_view body;  // until the next call on the connection
};

class Connection {
 public:
  Connection(const std::string& host, int port);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  int fd() const { return fd_; }
  std::int64_t began() const { return began_; }
  // Begins to send; `bytes` must stay. True if all of it went out; else SendMore when the socket takes more.
  bool Send(const std::string& bytes, std::int64_t now);
  bool SendMore();
  // Reads what is there; an answer if it is complete. Throws if the connection ends or what comes is no answer.
  std::optional<Answer> Read();

 private:
  int fd_ = -1;
  const std::string* request_ = nullptr;
  std::size_t sent_ = 0;
  std::int64_t began_ = 0;
  std::string in_;
  std::size_t filled_ = 0, body_at_ = 0, wanted_ = 0;
  int status_ = 0;
};

// An HTTP request for the API at host:port.
std::string RequestText(const std::string& method, const std::string& path, const std::string& host, const std::string& headers,
                        const std::string& body);
// One GET, on a connection of its own; the body, or nothing if there is no answer 200.
std::optional<std::string> FetchOnce(const std::string& host, int port, const std::string& path);

}  // namespace acl::bench
