#pragma once
// libcurl's transfers behind an epoll: a round costs what has happened in it, not how many calls are open. (curl_multi_poll asks for every
// open socket in each round: with 10,000 slow calls that was two thirds of a worker's processor time.)
//
// A connection that libcurl keeps for later is watched while it rests: what comes over it then, its end or an answer that nobody asked for,
// makes it one that is not taken any more. (libcurl 7.88 would take the latter for the answer to what is sent next.)

#include <curl/curl.h>

#include <chrono>
#include <optional>
#include <unordered_set>
#include <vector>

namespace acl {

class CurlMulti {
 public:
  CurlMulti();
  ~CurlMulti();  // every easy handle was removed before
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  CURLM* handle() const { return multi_; }
  // Its transfer begins.
  void Add(CURL* easy);
  // From any thread: the wait of now, or the next one, ends at once.
  void Wake() const;
  // Waits for a socket, for libcurl's own timer, for Wake, at most until then; libcurl does what follows from it.
  void Act(std::chrono::steady_clock::time_point until);

 private:
  // Something came over it. Not asked for, if no transfer has it.
  void EndIfResting(int socket);

  static int OnClose(void* self, curl_socket_t socket);
  static int OnSocket(CURL* easy, curl_socket_t socket, int what, void* self, void* known);
  static int OnTimer(CURLM* multi, long milliseconds, void* self);

  CURLM* multi_ = nullptr;
  int epoll_ = -1, wake_ = -1;
  std::unordered_set<int> resting_;                             // sockets that no transfer has, in the epoll
  std::vector<CURL*> closed_;                                   // whose socket was given up in this round
  std::optional<std::chrono::steady_clock::time_point> timer_;  // when libcurl wants to be asked
};

}  // namespace acl
