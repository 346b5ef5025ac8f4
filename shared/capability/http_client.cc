#include "shared/capability/http_client.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shared/base/check.h"
#include "shared/base/fail_point.h"
#include "shared/base/late_thread.h"
#include "shared/base/memory.h"
#include "shared/capability/curl_multi.h"
#include "shared/capability/egress.h"

namespace acl {

namespace {

// So many connections are kept for calls to come. With more calls on their way each has one of its own: libcurl looks for a free one by
// going through all.
constexpr long kKept = 512;
constexpr std::chrono::seconds kKeptIdle{30}, kKeptInAll{300};  // names are looked up anew now and then

using End = HttpAnswer::End;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string Lower(std::string text) {
  for (char& c : text) c = char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return text;
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// What may go along to another origin. Whatever else a header is called, it may carry a secret.
bool IsHarmless(const std::string& name) {
  static constexpr std::string_view kHarmless[] = {
      "accept",       "accept-charset", "accept-encoding",     "accept-language", "cache-control",
      "content-type", "if-match",       "if-modified-since",   "if-none-match",   "if-range",
      "pragma",       "range",          "if-unmodified-since", "user-agent"};
  return std::find(std::begin(kHarmless), std::end(kHarmless), Lower(name)) != std::end(kHarmless);
}

}  // namespace

// A call from its start to its answer, redirects included.
struct HttpExchange {
  HttpExchange(HttpCall wanted, HttpClient::Done then, const HttpConfig& rules)
      : call(std::move(wanted)), done(std::move(then)), config(rules), url(call.url) {}
  ~HttpExchange() { DropHandle(); }
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  void DropHandle() {
    if (easy) ::curl_easy_cleanup(std::exchange(easy, nullptr));
    ::curl_slist_free_all(std::exchange(headers, nullptr));
  }
  template <class Value>
  void Set(CURLoption option, Value value) {
    ::curl_easy_setopt(easy, option, value);
  }
  void Header(const std::string& line) { headers = ::curl_slist_append(headers, line.c_str()); }

  const HttpCall call;
  const HttpClient::Done done;
  const HttpConfig& config;
  HttpAnswer answer;
  std::string url, origin, first_origin;  // of this hop, of the first
  int hop = 0;
  CURL* easy = nullptr;  // of this hop
  curl_slist* headers = nullptr;
  // What the callbacks say of this hop.
  bool sent = false, refused = false, too_large = false, declined = false;
  steady_clock::time_point heard;  // once sent: when something of the answer came last
  std::string refusal;
  std::size_t header_bytes = 0;
  std::size_t last_header = 0;  // into answer.headers: which one a folded line goes on with
};

namespace {

using Exchange = HttpExchange;

curl_socket_t OpenSocket(void* user, curlsocktype purpose, curl_sockaddr* address) {
  auto* exchange = static_cast<Exchange*>(user);
  std::string_view what = NotPublic(&address->addr);
  if (purpose != CURLSOCKTYPE_IPCXN || (!what.empty() && !exchange->config.allow_private_networks)) {
    exchange->refused = true;
    (void)WithinMemory([&] {
      exchange->refusal = fmt::format(
          "the host resolves to an address that is not public ({}); such addresses are refused unless the worker is configured to allow "
          "private networks",
          what);
    });
    return CURL_SOCKET_BAD;
  }
  exchange->refused = false;  // another of the host's addresses is public
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// Called when the connection stands or is found, before the first byte of the request.
int BeforeRequest(void* user, char*, char*, int, int) {
  auto* exchange = static_cast<Exchange*>(user);
  exchange->sent = true;
  exchange->heard = steady_clock::now();
  return CURL_PREREQFUNC_OK;
}

std::size_t TakeBody(char* data, std::size_t, std::size_t size, void* user) {
  auto* exchange = static_cast<Exchange*>(user);
  exchange->heard = steady_clock::now();
  if (exchange->answer.body_bytes + size > exchange->config.max_body_bytes) {
    exchange->too_large = true;
    return 0;
  }
  exchange->answer.body_bytes += size;
  long status = 0;
  if (exchange->call.on_body) ::curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
  if (status == 200) {
    bool wanted = false;
    const bool told = WithinMemory([&] { wanted = exchange->call.on_body({data, size}); });
    exchange->declined = told && !wanted;
    return wanted ? size : 0;
  }
  // No exception goes through libcurl: it ends the transfer for a callback that took less.
  return WithinMemory([&] { exchange->answer.body.append(data, size); }) ? size : 0;
}

std::size_t TakeHeaderLine(Exchange* exchange, const char* data, std::size_t size) {
  std::string_view line(data, size);
  exchange->heard = steady_clock::now();
  if (exchange->header_bytes == 0) FailPoint("effect.after_send");  // it was sent and answered, and nothing of the answer is read yet
  exchange->header_bytes += size;
  if (exchange->header_bytes > exchange->config.max_header_bytes) {
    exchange->too_large = true;
    return 0;
  }
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  auto& headers = exchange->answer.headers;
  if (!line.empty() && IsBlank(line.front())) {  // folded (RFC 9112, 5.2): the fold is one space
    const std::string_view more = Trimmed(line);
    if (!headers.empty() && !more.empty()) headers[exchange->last_header].second.append(" ").append(more);
    return size;
  }
  if (line.substr(0, 5) == "HTTP/") {
    headers.clear();  // of an interim answer (100, 103)
    return size;
  }
  auto colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name(line.substr(0, colon));
  const std::string_view value = Trimmed(line.substr(colon + 1));
  auto same = std::find_if(headers.begin(), headers.end(), [&](const auto& header) { return Lower(header.first) == Lower(name); });
  if (same != headers.end()) {
    same->second.append(", ").append(value);
  } else {
    same = headers.emplace(headers.end(), std::move(name), std::string(value));
  }
  exchange->last_header = std::size_t(same - headers.begin());
  return size;
}

std::size_t TakeHeader(char* data, std::size_t, std::size_t size, void* user) {
  std::size_t taken = 0;
  (void)WithinMemory([&] { taken = TakeHeaderLine(static_cast<Exchange*>(user), data, size); });
  return taken;
}

void SetUp(Exchange& exchange, bool same_origin, bool keep) {
  const HttpConfig& config = exchange.config;
  const HttpCall& call = exchange.call;
  exchange.Set(CURLOPT_URL, exchange.url.c_str());
  exchange.Set(CURLOPT_PRIVATE, static_cast<void*>(&exchange));
  exchange.Set(CURLOPT_FRESH_CONNECT, keep ? 0L : 1L);
  exchange.Set(CURLOPT_FORBID_REUSE, keep ? 0L : 1L);
  exchange.Set(CURLOPT_MAXAGE_CONN, long(kKeptIdle.count()));
  exchange.Set(CURLOPT_MAXLIFETIME_CONN, long(kKeptInAll.count()));
  exchange.Set(CURLOPT_PROTOCOLS_STR, "http,https");
  exchange.Set(CURLOPT_FOLLOWLOCATION, 0L);  // each hop is checked by us
  exchange.Set(CURLOPT_PROXY, "");
  exchange.Set(CURLOPT_NOSIGNAL, 1L);
  exchange.Set(CURLOPT_QUICK_EXIT, 1L);  // a call that ends while its name is looked up does not wait for that, nor do all others
  exchange.Set(CURLOPT_NETRC, long(CURL_NETRC_IGNORED));
  exchange.Set(CURLOPT_CONNECTTIMEOUT_MS, long(config.connect_timeout.count()));
  exchange.Set(CURLOPT_ACCEPT_ENCODING, "");
  exchange.Set(CURLOPT_USERAGENT, config.user_agent.c_str());
  if (!config.ca_file.empty()) exchange.Set(CURLOPT_CAINFO, config.ca_file.c_str());
  exchange.Set(CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
  exchange.Set(CURLOPT_OPENSOCKETDATA, &exchange);
  exchange.Set(CURLOPT_PREREQFUNCTION, &BeforeRequest);
  exchange.Set(CURLOPT_PREREQDATA, &exchange);
  exchange.Set(CURLOPT_WRITEFUNCTION, &TakeBody);
  exchange.Set(CURLOPT_WRITEDATA, &exchange);
  exchange.Set(CURLOPT_HEADERFUNCTION, &TakeHeader);
  exchange.Set(CURLOPT_HEADERDATA, &exchange);
  if (call.method != "GET") {
    exchange.Set(CURLOPT_POST, 1L);
    exchange.Set(CURLOPT_POSTFIELDS, call.body.data());
    exchange.Set(CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(call.body.size()));
    exchange.Set(CURLOPT_CUSTOMREQUEST, call.method.c_str());
    exchange.Header("Expect:");
  }
  for (const auto& [name, value] : call.headers) {
    if (same_origin || IsHarmless(name)) exchange.Header(value.empty() ? name + ";" : name + ": " + value);
  }
  if (same_origin) {
    for (const auto& [name, value] : call.own_headers) exchange.Header(name + ": " + value);
  }
  exchange.Set(CURLOPT_HTTPHEADER, exchange.headers);
}

// How the hop ended, if not with an answer.
void EndWith(Exchange& exchange, End how, std::string why) {
  exchange.answer.sent = exchange.answer.sent || exchange.sent;
  exchange.answer.end = how;
  exchange.answer.error =
      exchange.hop > 0 && how != End::kAnswered ? fmt::format("redirected to '{}': {}", exchange.url.substr(0, 200), why) : std::move(why);
}

}  // namespace

class HttpClient::Loop {
 public:
  explicit Loop(HttpConfig config) : config_(std::move(config)) {
    static std::once_flag once;
    std::call_once(once, [] { ::curl_global_init(CURL_GLOBAL_DEFAULT); });
    ACL_CHECK(handshakes_, "no memory is left for an HTTP client");
    ::curl_share_setopt(handshakes_.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);  // no locks: all is done by one thread
    multi_ = std::make_unique<CurlMulti>();
    ::curl_multi_setopt(multi_->handle(), CURLMOPT_MAXCONNECTS, kKept);
    // One call at a time on each, also where HTTP/2 would carry more: the end of one is nothing to another.
    ::curl_multi_setopt(multi_->handle(), CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
  }
  ~Loop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    multi_->Wake();
    if (thread_.joinable()) thread_.join();
  }

  void Start(HttpCall call, Done done) {
    bool first;
    {
      std::lock_guard lock(mutex_);
      if (Status begun = BeginThread(); !begun) {
        HttpAnswer answer;
        answer.end = HttpAnswer::End::kNotSent;
        answer.error = begun.message();
        answer.is_short = true;
        return done(std::move(answer));
      }
      first = incoming_.empty();
      incoming_.push_back(std::make_unique<HttpExchange>(std::move(call), std::move(done), config_));
    }
    if (first) multi_->Wake();  // else it has been woken, and takes all
  }

 private:
  static constexpr milliseconds kLookEvery{100};  // while calls are open: whether one of them was stopped

  Status BeginThread() {
    if (thread_.joinable()) return {};
    return StartThread(thread_, [this] {
      pthread_setname_np(pthread_self(), "http-client");
      Run();
    });
  }

  void Run() {
    for (;;) {
      bool stopping = false;
      std::vector<std::unique_ptr<HttpExchange>> incoming;
      {
        std::lock_guard lock(mutex_);
        incoming.swap(incoming_);
        stopping = stopping_;
      }
      for (auto& exchange : incoming) {
        next_look_ = std::min({next_look_, exchange->call.deadline, steady_clock::now() + kLookEvery});
        HttpExchange* begun = exchange.get();
        UntilThereIsMemory([&] { active_[begun] = std::move(exchange); });
        Go(*begun, [&] { Begin(*begun); });
      }
      int queued = 0;
      while (CURLMsg* message = ::curl_multi_info_read(multi_->handle(), &queued)) {
        if (message->msg != CURLMSG_DONE) continue;
        void* exchange = nullptr;
        ::curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
        auto& ended = *static_cast<HttpExchange*>(exchange);
        Go(ended, [&, code = message->data.result] { OnEnded(ended, code); });
      }
      Look(stopping);
      if (stopping && active_.empty()) return;
      multi_->Act(next_look_);
    }
  }

  // A call for which there is not enough memory ends, and no other. It has not been finished: that is the last thing done with it.
  template <class Piece>
  void Go(HttpExchange& exchange, const Piece& piece) {
    if (WithinMemory(piece)) return;
    UntilThereIsMemory([&] { EndWith(exchange, exchange.sent ? End::kLost : End::kNotSent, std::string(kOutOfMemory)); });
    Finish(exchange);
  }

  void Begin(HttpExchange& exchange) {
    exchange.url = EncodeUrl(exchange.url);
    auto checked = CheckUrl(exchange.url, config_);
    if (!checked) {
      EndWith(exchange, End::kRefused, checked.message());
      return Finish(exchange);
    }
    exchange.origin = checked->origin();
    if (exchange.hop == 0) exchange.first_origin = exchange.origin;
    exchange.answer.headers.clear();
    exchange.answer.body.clear();
    exchange.answer.body_bytes = 0;
    exchange.answer.status = 0;
    exchange.sent = exchange.refused = exchange.too_large = exchange.declined = false;
    exchange.header_bytes = 0;
    exchange.easy = ::curl_easy_init();
    if (!exchange.easy) {
      EndWith(exchange, End::kNotSent, "out of memory");
      return Finish(exchange);
    }
    const bool keep = exchange.call.repeatable && active_.size() <= std::size_t(kKept);
    SetUp(exchange, checked->origin() == exchange.first_origin, keep);
    exchange.Set(CURLOPT_SHARE, handshakes_.get());
    multi_->Add(exchange.easy);
  }

  void OnEnded(HttpExchange& exchange, CURLcode code) {
    if (exchange.too_large) {
      long status = 0;
      ::curl_easy_getinfo(exchange.easy, CURLINFO_RESPONSE_CODE, &status);
      exchange.answer.status = int(status);
      EndWith(exchange, End::kTooLarge,
              fmt::format("the answer is larger than allowed ({} bytes of body, {} of headers)", config_.max_body_bytes,
                          config_.max_header_bytes));
      return Finish(exchange);
    }
    if (code != CURLE_OK) {
      if (exchange.declined) {
        EndWith(exchange, End::kStopped, "stopped during the call");
      } else if (exchange.refused && !exchange.sent) {
        EndWith(exchange, End::kRefused, exchange.refusal);
      } else {
        EndWith(exchange, exchange.sent ? End::kLost : End::kNotSent, fmt::format("{}: {}", exchange.origin, ::curl_easy_strerror(code)));
      }
      return Finish(exchange);
    }
    long status = 0;
    ::curl_easy_getinfo(exchange.easy, CURLINFO_RESPONSE_CODE, &status);
    char* target = nullptr;
    ::curl_easy_getinfo(exchange.easy, CURLINFO_REDIRECT_URL, &target);
    const std::string next = target ? target : "";
    exchange.answer.status = int(status);
    EndWith(exchange, End::kAnswered, "");
    if (!exchange.call.follow_redirects || next.empty()) return Finish(exchange);
    if (exchange.hop == config_.max_redirects) {
      exchange.hop = 0;  // it is the call that is refused, not a place it was sent to
      EndWith(exchange, End::kRefused, fmt::format("more than {} redirects", config_.max_redirects));
      return Finish(exchange);
    }
    Remove(exchange);
    exchange.url = next;
    ++exchange.hop;
    Begin(exchange);
  }

  // What is stopped or late.
  void Look(bool stopping) {
    const auto now = steady_clock::now();
    if (now < next_look_ && !stopping) return;
    next_look_ = now + (active_.empty() ? kLookEvery * 600 : kLookEvery);
    std::vector<HttpExchange*> ended;
    for (auto& one : active_) {
      HttpExchange* const exchange = one.first;
      const bool stopped = stopping || (exchange->call.stopped && exchange->call.stopped());
      const auto quiet = exchange->call.most_quiet;
      const bool late = exchange->call.deadline <= now;
      if (stopped || late || (quiet.count() > 0 && exchange->sent && exchange->heard + quiet <= now)) {
        UntilThereIsMemory([&] {
          EndWith(*exchange, stopped ? End::kStopped : End::kTimedOut,
                  stopped ? "stopped during the call"
                  : late  ? "the deadline passed during the call"
                          : fmt::format("nothing came for {} ms", quiet.count()));
          ended.push_back(exchange);
        });
      } else {
        next_look_ = std::min(next_look_, exchange->call.deadline);
      }
    }
    for (HttpExchange* exchange : ended) Finish(*exchange);
  }

  void Remove(HttpExchange& exchange) {
    if (exchange.easy) ::curl_multi_remove_handle(multi_->handle(), exchange.easy);
    exchange.DropHandle();
  }

  void Finish(HttpExchange& exchange) {
    Remove(exchange);
    auto node = active_.extract(&exchange);
    (void)WithinMemory([&] { exchange.done(std::move(exchange.answer)); });
  }

  const HttpConfig config_;
  // Tickets of TLS, by server: a connection of its own for every POST costs a handshake, but not the server's certificate each time.
  const std::unique_ptr<CURLSH, decltype(&::curl_share_cleanup)> handshakes_{::curl_share_init(), &::curl_share_cleanup};
  std::unique_ptr<CurlMulti> multi_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpExchange>> incoming_;
  bool stopping_ = false;
  std::thread thread_;  // made by the first call
  // Of the thread alone.
  std::unordered_map<HttpExchange*, std::unique_ptr<HttpExchange>> active_;
  steady_clock::time_point next_look_ = steady_clock::now();
};

HttpClient::HttpClient(HttpConfig config) : loop_(std::make_unique<Loop>(std::move(config))) {}
HttpClient::~HttpClient() = default;
void HttpClient::Start(HttpCall call, Done done) { loop_->Start(std::move(call), std::move(done)); }

}  // namespace acl
