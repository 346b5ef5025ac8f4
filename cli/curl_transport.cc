#include "cli/curl_transport.h"

#include <curl/curl.h>

#include <mutex>

namespace acl::cli {

namespace {

constexpr std::size_t kMostBytes = 256u << 20;

struct Reading {
  CURL* handle = nullptr;
  ApiReply reply;
  const std::function<bool(std::string_view)>* take = nullptr;
  bool stopped = false, too_large = false;
};

std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* user) {
  auto* reading = static_cast<Reading*>(user);
  const std::string_view piece(data, size * count);
  long status = 0;
  curl_easy_getinfo(reading->handle, CURLINFO_RESPONSE_CODE, &status);
  if (reading->take && status == 200) {
    reading->stopped = !(*reading->take)(piece);
    return reading->stopped ? 0 : piece.size();
  }
  reading->too_large = reading->reply.body.size() + piece.size() > kMostBytes;
  if (reading->too_large) return 0;
  reading->reply.body += piece;
  return piece.size();
}

std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* user) {
  auto* reading = static_cast<Reading*>(user);
  std::string line(data, size * count);
  if (line.starts_with("HTTP/")) reading->reply.headers.clear();  // the head after a "100 Continue" counts
  if (std::size_t colon = line.find(':'); colon != std::string::npos) {
    std::string name = line.substr(0, colon), value = line.substr(colon + 1);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::size_t from = value.find_first_not_of(" \t"), to = value.find_last_not_of(" \t\r\n");
    reading->reply.headers[name] = from == std::string::npos ? "" : value.substr(from, to - from + 1);
  }
  return size * count;
}

class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(std::string server) : server_(std::move(server)) {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    handle_ = curl_easy_init();
    ACL_CHECK(handle_, "libcurl gives no handle");
  }
  ~CurlTransport() override { curl_easy_cleanup(handle_); }
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  Result<ApiReply> Send(const ApiRequest& request) override { return Perform(request, nullptr); }
  Result<ApiReply> Stream(const ApiRequest& request, const std::function<bool(std::string_view)>& take) override {
    return Perform(request, &take);
  }

 private:
  Result<ApiReply> Perform(const ApiRequest& request, const std::function<bool(std::string_view)>* take) {
    curl_easy_reset(handle_);
    Reading reading;
    reading.handle = handle_;
    reading.take = take;
    const std::string url = server_ + request.path;
    char reason[CURL_ERROR_SIZE] = "";
    curl_slist* headers = nullptr;
    for (const auto& [name, value] : request.headers) headers = curl_slist_append(headers, (name + ": " + value).c_str());
    headers = curl_slist_append(headers, "Expect:");
    curl_easy_setopt(handle_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle_, CURLOPT_USERAGENT, "airun/0.1");
    curl_easy_setopt(handle_, CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
    curl_easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT_MS, 5'000L);
    curl_easy_setopt(handle_, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    curl_easy_setopt(handle_, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, OnBody);
    curl_easy_setopt(handle_, CURLOPT_WRITEDATA, &reading);
    curl_easy_setopt(handle_, CURLOPT_HEADERFUNCTION, OnHeader);
    curl_easy_setopt(handle_, CURLOPT_HEADERDATA, &reading);
    if (take) {  // a stream that is silent for two minutes is dead: the server sends a comment now and then
      curl_easy_setopt(handle_, CURLOPT_LOW_SPEED_LIMIT, 1L);
      curl_easy_setopt(handle_, CURLOPT_LOW_SPEED_TIME, 120L);
    }
    if (request.method != "GET") {
      curl_easy_setopt(handle_, CURLOPT_CUSTOMREQUEST, request.method.c_str());
      curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, request.body.c_str());
    }
    const CURLcode code = curl_easy_perform(handle_);
    curl_slist_free_all(headers);
    long status = 0;
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    reading.reply.status = static_cast<int>(status);
    if (code == CURLE_OK || reading.stopped) return std::move(reading.reply);
    if (reading.too_large) return Error{Code::kInternal, "the answer of " + url + " is larger than 256 MiB"};
    const std::string why = reason[0] ? reason : curl_easy_strerror(code);
    if (code == CURLE_OPERATION_TIMEDOUT) return Error{Code::kTimeout, "no answer from " + server_ + " in time: " + why};
    return Error{Code::kUnavailable, "cannot reach the coordinator at " + server_ + " (" + why +
                                         "); is it running (airun dev), is --server or ACL_SERVER right?"};
  }

  std::string server_;
  CURL* handle_ = nullptr;
};

}  // namespace

std::unique_ptr<Transport> MakeCurlTransport(const std::string& server) { return std::make_unique<CurlTransport>(server); }

}  // namespace acl::cli
