#include "shared/capability/http_client.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "shared/capability/egress.h"

namespace acl {

namespace {

using End = HttpAnswer::End;
using std::chrono::steady_clock;

std::string Lower(std::string text) {
  for (char& c : text) c = char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return text;
}

bool IsSecret(const std::string& name) {
  std::string lower = Lower(name);
  return lower == "authorization" || lower == "cookie" || lower == "proxy-authorization" || lower == "x-api-key" ||
         lower == "idempotency-key";
}

// What the callbacks of one exchange share.
struct Exchange {
  const HttpConfig& config;
  HttpAnswer& answer;
  bool sent = false, refused = false, too_large = false;
  std::string refusal;
  std::size_t header_bytes = 0;
};

curl_socket_t OpenSocket(void* user, curlsocktype purpose, curl_sockaddr* address) {
  auto* exchange = static_cast<Exchange*>(user);
  std::string_view what = NotPublic(&address->addr);
  if (purpose != CURLSOCKTYPE_IPCXN || (!what.empty() && !exchange->config.allow_private_networks)) {
    exchange->refused = true;
    exchange->refusal = fmt::format(
        "the host resolves to an address that is not public ({}); such addresses are refused unless the worker is configured to allow "
        "private networks",
        what);
    return CURL_SOCKET_BAD;
  }
  exchange->refused = false;  // another of the host's addresses is public
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// Called when the connection stands, before the first byte of the request.
int BeforeRequest(void* user, char*, char*, int, int) {
  static_cast<Exchange*>(user)->sent = true;
  return CURL_PREREQFUNC_OK;
}

std::size_t TakeBody(char* data, std::size_t, std::size_t size, void* user) {
  auto* exchange = static_cast<Exchange*>(user);
  if (exchange->answer.body.size() + size > exchange->config.max_body_bytes) {
    exchange->too_large = true;
    return 0;
  }
  exchange->answer.body.append(data, size);
  return size;
}

std::size_t TakeHeader(char* data, std::size_t, std::size_t size, void* user) {
  auto* exchange = static_cast<Exchange*>(user);
  std::string_view line(data, size);
  exchange->header_bytes += size;
  if (exchange->header_bytes > exchange->config.max_header_bytes) {
    exchange->too_large = true;
    return 0;
  }
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  auto& headers = exchange->answer.headers;
  if (line.substr(0, 5) == "HTTP/") {
    headers.clear();  // of an interim answer (100, 103)
    return size;
  }
  auto colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name(line.substr(0, colon));
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  auto same = std::find_if(headers.begin(), headers.end(), [&](const auto& header) { return Lower(header.first) == Lower(name); });
  if (same != headers.end()) {
    same->second.append(", ").append(value);
  } else {
    headers.emplace_back(std::move(name), std::string(value));
  }
  return size;
}

struct Handles {
  CURL* easy = ::curl_easy_init();
  CURLM* multi = ::curl_multi_init();
  curl_slist* headers = nullptr;

  ~Handles() {
    if (multi && easy) ::curl_multi_remove_handle(multi, easy);
    if (easy) ::curl_easy_cleanup(easy);
    if (multi) ::curl_multi_cleanup(multi);
    ::curl_slist_free_all(headers);
  }
  template <class Value>
  void Set(CURLoption option, Value value) {
    ::curl_easy_setopt(easy, option, value);
  }
  void Header(const std::string& line) { headers = ::curl_slist_append(headers, line.c_str()); }
};

void SetUp(Handles& handles, Exchange& exchange, const HttpCall& call, const std::string& url, bool same_origin) {
  const HttpConfig& config = exchange.config;
  handles.Set(CURLOPT_URL, url.c_str());
  handles.Set(CURLOPT_PROTOCOLS_STR, "http,https");
  handles.Set(CURLOPT_FOLLOWLOCATION, 0L);  // each hop is checked by us
  handles.Set(CURLOPT_PROXY, "");
  handles.Set(CURLOPT_NOSIGNAL, 1L);
  handles.Set(CURLOPT_NETRC, long(CURL_NETRC_IGNORED));
  handles.Set(CURLOPT_CONNECTTIMEOUT_MS, long(config.connect_timeout.count()));
  handles.Set(CURLOPT_ACCEPT_ENCODING, "");
  handles.Set(CURLOPT_USERAGENT, config.user_agent.c_str());
  if (!config.ca_file.empty()) handles.Set(CURLOPT_CAINFO, config.ca_file.c_str());
  handles.Set(CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
  handles.Set(CURLOPT_OPENSOCKETDATA, &exchange);
  handles.Set(CURLOPT_PREREQFUNCTION, &BeforeRequest);
  handles.Set(CURLOPT_PREREQDATA, &exchange);
  handles.Set(CURLOPT_WRITEFUNCTION, &TakeBody);
  handles.Set(CURLOPT_WRITEDATA, &exchange);
  handles.Set(CURLOPT_HEADERFUNCTION, &TakeHeader);
  handles.Set(CURLOPT_HEADERDATA, &exchange);
  if (call.method != "GET") {
    handles.Set(CURLOPT_POST, 1L);
    handles.Set(CURLOPT_POSTFIELDS, call.body.data());
    handles.Set(CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(call.body.size()));
    handles.Set(CURLOPT_CUSTOMREQUEST, call.method.c_str());
    handles.Header("Expect:");
  }
  for (const auto& [name, value] : call.headers) {
    if (same_origin || !IsSecret(name)) handles.Header(value.empty() ? name + ";" : name + ": " + value);
  }
  if (same_origin) {
    for (const auto& [name, value] : call.own_headers) handles.Header(name + ": " + value);
  }
  handles.Set(CURLOPT_HTTPHEADER, handles.headers);
}

// One request and its answer, no redirect. The target of a redirect comes back in `next`.
void Once(const HttpCall& call, const HttpConfig& config, const std::string& url, bool same_origin, HttpAnswer& answer, std::string& next) {
  static std::once_flag once;
  std::call_once(once, [] { ::curl_global_init(CURL_GLOBAL_DEFAULT); });
  answer.headers.clear();
  answer.body.clear();
  answer.status = 0;
  Exchange exchange{config, answer};
  Handles handles;
  auto end = [&](End how, std::string why) {
    answer.sent = answer.sent || exchange.sent;
    answer.end = how;
    answer.error = std::move(why);
  };
  if (!handles.easy || !handles.multi) return end(End::kNotSent, "out of memory");
  SetUp(handles, exchange, call, url, same_origin);
  ::curl_multi_add_handle(handles.multi, handles.easy);
  int running = 1;
  while (running > 0) {
    if (::curl_multi_perform(handles.multi, &running) != CURLM_OK)
      return end(exchange.sent ? End::kLost : End::kNotSent, "the HTTP library failed");
    if (running == 0) break;
    if (call.stopped && call.stopped()) return end(End::kStopped, "stopped during the call");
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(call.deadline - steady_clock::now()).count();
    if (left <= 0) return end(End::kTimedOut, "the deadline passed during the call");
    ::curl_multi_poll(handles.multi, nullptr, 0, int(std::min<long long>(left, 100)), nullptr);
  }
  int queued = 0;
  CURLMsg* message = ::curl_multi_info_read(handles.multi, &queued);
  CURLcode code = message && message->msg == CURLMSG_DONE ? message->data.result : CURLE_RECV_ERROR;
  if (exchange.too_large) {
    return end(End::kTooLarge, fmt::format("the answer is larger than allowed ({} bytes of body, {} of headers)", config.max_body_bytes,
                                           config.max_header_bytes));
  }
  if (code != CURLE_OK) {
    if (exchange.refused && !exchange.sent) return end(End::kRefused, exchange.refusal);
    return end(exchange.sent ? End::kLost : End::kNotSent, ::curl_easy_strerror(code));
  }
  long status = 0;
  ::curl_easy_getinfo(handles.easy, CURLINFO_RESPONSE_CODE, &status);
  char* target = nullptr;
  ::curl_easy_getinfo(handles.easy, CURLINFO_REDIRECT_URL, &target);
  if (target) next = target;
  answer.status = int(status);
  end(End::kAnswered, "");
}

}  // namespace

HttpAnswer PerformHttp(const HttpCall& call, const HttpConfig& config) {
  HttpAnswer answer;
  std::string url = call.url, first_origin;
  for (int hop = 0;; ++hop) {
    auto checked = CheckUrl(url, config);
    if (!checked) {
      answer.end = End::kRefused;
      answer.error = hop == 0 ? checked.message() : fmt::format("redirected to '{}': {}", url.substr(0, 200), checked.message());
      return answer;
    }
    if (hop == 0) first_origin = checked->origin();
    std::string next;
    Once(call, config, url, checked->origin() == first_origin, answer, next);
    if (answer.end != End::kAnswered) {
      if (hop > 0) answer.error = fmt::format("redirected to '{}': {}", url.substr(0, 200), answer.error);
      return answer;
    }
    if (!call.follow_redirects || next.empty()) return answer;
    if (hop == config.max_redirects) {
      answer.end = End::kRefused;
      answer.error = fmt::format("more than {} redirects", config.max_redirects);
      return answer;
    }
    url = next;
  }
}

}  // namespace acl
