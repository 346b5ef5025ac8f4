#include "shared/objectstore/curl_exchange.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include "shared/base/check.h"

namespace acl::s3 {
namespace {

constexpr std::size_t kMostIdle = 16;
constexpr std::size_t kMostHeaders = 64 << 10;

struct Taking {
  Answer answer;
  std::int64_t most = 0;
  std::size_t header_bytes = 0;
  bool too_large = false;
};

std::size_t TakeBody(char* data, std::size_t, std::size_t size, void* user) {
  auto* taking = static_cast<Taking*>(user);
  taking->too_large = std::int64_t(taking->answer.body.size() + size) > taking->most;
  if (taking->too_large) return 0;
  taking->answer.body.append(data, size);
  return size;
}

std::size_t TakeHeader(char* data, std::size_t, std::size_t size, void* user) {
  auto* taking = static_cast<Taking*>(user);
  const std::string_view line(data, size);
  taking->header_bytes += size;
  if (taking->header_bytes > kMostHeaders) return 0;
  if (line.starts_with("HTTP/")) taking->answer.headers.clear();  // of an interim answer
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name(line.substr(0, colon));
  for (char& c : name) c = char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == '\r' || value.back() == '\n' || value.back() == ' ')) value.remove_suffix(1);
  taking->answer.headers[std::move(name)] = std::string(value);
  return size;
}

struct HeaderList {
  explicit HeaderList(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) list = ::curl_slist_append(list, line.c_str());
  }
  ~HeaderList() { ::curl_slist_free_all(list); }
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  curl_slist* list = nullptr;
};

Code CodeOf(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return Code::kTimeout;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return Code::kInvalid;
    default: return Code::kUnavailable;
  }
}

}  // namespace

CurlPool::CurlPool() {
  static std::once_flag once;
  std::call_once(once, [] { ::curl_global_init(CURL_GLOBAL_DEFAULT); });
}

CurlPool::~CurlPool() {
  for (void* handle : idle_) ::curl_easy_cleanup(handle);
}

void* CurlPool::Take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      void* handle = idle_.back();
      idle_.pop_back();
      ::curl_easy_reset(handle);  // keeps its connections
      return handle;
    }
  }
  void* handle = ::curl_easy_init();
  ACL_CHECK(handle != nullptr, "libcurl gives no handle");
  return handle;
}

void CurlPool::ReturnHandle(void* handle) {
  {
    std::lock_guard lock(mutex_);
    if (idle_.size() < kMostIdle) {
      idle_.push_back(handle);
      return;
    }
  }
  ::curl_easy_cleanup(handle);
}

Result<Answer> CurlPool::Send(const Exchange& exchange) {
  Taking taking;
  taking.most = exchange.most;
  const HeaderList headers(exchange.headers);
  char reason[CURL_ERROR_SIZE] = "";
  void* handle = Take();
  const auto set = [handle](CURLoption option, auto value) { ::curl_easy_setopt(handle, option, value); };
  set(CURLOPT_URL, exchange.url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NETRC, long(CURL_NETRC_IGNORED));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTP_VERSION, long(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, long(exchange.connect_timeout.count()));
  set(CURLOPT_TIMEOUT_MS, long(exchange.timeout.count()));
  set(CURLOPT_ERRORBUFFER, reason);
  if (!exchange.ca_file.empty()) set(CURLOPT_CAINFO, exchange.ca_file.c_str());
  set(CURLOPT_HTTPHEADER, headers.list);
  set(CURLOPT_WRITEFUNCTION, &TakeBody);
  set(CURLOPT_WRITEDATA, &taking);
  set(CURLOPT_HEADERFUNCTION, &TakeHeader);
  set(CURLOPT_HEADERDATA, &taking);
  if (exchange.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (exchange.method == "PUT") {
    set(CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(exchange.body.size()));
    set(CURLOPT_POSTFIELDS, exchange.body.empty() ? "" : exchange.body.data());
    set(CURLOPT_CUSTOMREQUEST, "PUT");
  } else if (exchange.method != "GET") {
    set(CURLOPT_CUSTOMREQUEST, exchange.method.c_str());
  }
  const CURLcode code = ::curl_easy_perform(handle);
  long status = 0;
  ::curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  taking.answer.status = int(status);
  if (code == CURLE_OK) {
    ReturnHandle(handle);
    return std::move(taking.answer);
  }
  const std::string why = reason[0] ? reason : ::curl_easy_strerror(code);
  ::curl_easy_cleanup(handle);
  if (taking.too_large) return Error{Code::kCorrupt, fmt::format("the answer has more than {} bytes", exchange.most)};
  return Error{CodeOf(code), why};
}

}  // namespace acl::s3
