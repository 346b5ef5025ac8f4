#pragma once
// libcurl's transfers behind an epoll: a round costs what has happened in it, not how many calls are open. (curl_multi_poll asks for every
// open socket in each round: with 10,000 slow calls that was two thirds of a worker's processor time.)

#include <curl/curl.h>

#include <chrono>
#include <optional>
#include <vector>

namespace acl {

class CurlMulti {
 public:
  CurlMulti();
  ~CurlMulti();  // every easy handle was removed before
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  CURLM* handle() const { return multi_; }
  // From any thread: the wait of now, or the next one, ends at once.
  void Wake() const;
  // Waits for a socket, for libcurl's own timer, for Wake, at most until then; libcurl does what follows from it.
  void Act(std::chrono::steady_clock::time_point until);

 private:
  static int OnSocket(CURL* easy, curl_socket_t socket, int what, void* self, void* known);
  static int OnTimer(CURLM* multi, long milliseconds, void* self);

  CURLM* multi_ = nullptr;
  int epoll_ = -1, wake_ = -1;
  std::vector<CURL*> closed_;                                   // whose socket was closed in this round
  std::optional<std::chrono::steady_clock::time_point> timer_;  // when libcurl wants to be asked
};

}  // namespace acl
