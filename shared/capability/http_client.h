#pragma once
// One HTTP call over libcurl, with the rules of egress.h on every connection it makes, caps on what comes back, and an end at its deadline
// or stop. No proxy or credential is taken from the environment.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/capability/config.h"

namespace acl {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpCall {
  std::string method;  // GET, POST, PUT, DELETE
  std::string url;
  HttpHeaders headers;      // the caller's; to another origin only those go along that cannot be secret
  HttpHeaders own_headers;  // Idempotency-Key, Fencing-*: for the first origin only
  std::string body;
  bool follow_redirects = false;
  // GET, PUT and what its receiver takes once however often it comes: may go over a connection that an earlier call has left, and once more
  // over a new one if that was dead.
  bool repeatable = false;
  std::chrono::steady_clock::time_point deadline;
  std::function<bool()> stopped;  // asked every 100 ms, on the client's thread
  // Takes the body of an answer of status 200 piece by piece, as it comes; HttpAnswer::body stays empty then. On the client's thread: must
  // not block. False ends the call as stopped. A body of another status is collected as ever.
  std::function<bool(std::string_view)> on_body;
  std::chrono::milliseconds most_quiet{0};  // from the request, and from each piece of the answer, to the next; 0: until the deadline
};

struct HttpAnswer {
  enum class End {
    kAnswered,  // status, headers, body are there
    kRefused,   // by our rules: nothing was sent to where it pointed
    kNotSent,   // no connection, so nothing was sent; may pass
    kLost,      // the request (or a part of it) was sent, the answer did not come whole
    kTimedOut,  // as above: `sent` says which
    kStopped,
    kTooLarge,  // an answer over the caps
  } end = End::kAnswered;
  int status = 0;       // of kTooLarge too, if it is known
  HttpHeaders headers;  // of the last answer, in order; repeated ones joined with ", "
  std::string body;
  std::size_t body_bytes = 0;  // what came of the body, given to on_body or collected
  std::string error;           // of every end but kAnswered
  bool sent = false;           // a request that may have an effect went out
  bool is_short = false;       // of kNotSent: this process has not got what it takes to send anything
};

// All calls are carried out by one thread, which waits for all of them at once: thousands that take their time cost some memory and nothing
// else. A call that may not be repeated has a connection of its own: it is never sent twice because an old one had died. The others take
// one that is left over if there is one, one call at a time on each.
class HttpClient {
 public:
  // Once a call, on the client's thread (or on that of the destructor): must not block.
  using Done = std::function<void(HttpAnswer)>;

  explicit HttpClient(HttpConfig config);
  ~HttpClient();  // what is on its way ends as stopped
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void Start(HttpCall call, Done done);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace acl
