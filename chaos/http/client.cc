#include "chaos/http/client.h"

#include <curl/curl.h>

#include <mutex>
#include <sstream>

namespace acl::chaos {
namespace {

std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* user) {
  static_cast<std::string*>(user)->append(data, size * count);
  return size * count;
}

std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* user) {
  const std::string line(data, size * count);
  if (const auto colon = line.find(':'); colon != std::string::npos) {
    std::string name = line.substr(0, colon);
    for (char& c : name) c = char(std::tolower(static_cast<unsigned char>(c)));
    const auto begin = line.find_first_not_of(" \t", colon + 1), end = line.find_last_not_of("\r\n \t");
    (*static_cast<std::map<std::string, std::string>*>(user))[name] =
        begin == std::string::npos || begin > end ? "" : line.substr(begin, end - begin + 1);
  }
  return size * count;
}

}  // namespace

Json HttpAnswer::json() const {
  auto parsed = ParseJson(body);
  return parsed ? *parsed : Json();
}

HttpAnswer Http(const HttpAsk& ask) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  HttpAnswer answer;
  CURL* handle = curl_easy_init();
  ACL_CHECK(handle != nullptr, "libcurl gives no handle");
  curl_slist* headers = nullptr;
  for (const auto& [name, value] : ask.headers) headers = curl_slist_append(headers, (name + ": " + value).c_str());
  headers = curl_slist_append(headers, "Expect:");
  curl_easy_setopt(handle, CURLOPT_URL, ask.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, 2'000L);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(ask.timeout.count()));
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &answer.headers);
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, ask.method.c_str());
  if (!ask.body.empty() || ask.method == "POST" || ask.method == "PUT") {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(ask.body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, ask.body.c_str());
  }
  const CURLcode code = curl_easy_perform(handle);
  curl_slist_free_all(headers);
  long status = 0;
  if (code == CURLE_OK) {
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  } else {
    answer.sent = code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST;
    answer.error = curl_easy_strerror(code);
    answer.body.clear();
    answer.headers.clear();
  }
  answer.status = static_cast<int>(status);
  curl_easy_cleanup(handle);
  return answer;
}

double MetricOf(const std::string& page, const std::string& name, const std::string& labels) {
  std::istringstream lines(page);
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.substr(0, line.find_first_of("{ ")) != name || line.find(labels) == std::string::npos) continue;
    sum += std::stod(line.substr(line.rfind(' ') + 1));
  }
  return sum;
}

}  // namespace acl::chaos
