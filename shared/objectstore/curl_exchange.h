#pragma once
// One HTTP request and its whole answer over libcurl, on connections that are kept. Verifies TLS always, follows no redirect, uses no
// proxy. Blocks until the answer or the deadline. Safe from any thread.

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"
#include "shared/objectstore/s3_answer.h"

namespace acl::s3 {

struct Exchange {
  std::string method, url;
  std::vector<std::string> headers;  // "name: value"
  std::string_view body;
  std::int64_t most = 0;  // bytes of the answer's body
  std::chrono::milliseconds connect_timeout, timeout;
  std::string ca_file;  // empty: the system's
};

class CurlPool {
 public:
  CurlPool();
  ~CurlPool();
  CurlPool(const CurlPool&) = delete;
  CurlPool& operator=(const CurlPool&) = delete;

  // kUnavailable (no connection, cut short), kTimeout, kCorrupt (larger than `most`), kInvalid (a certificate that does not verify).
  Result<Answer> Send(const Exchange& exchange);

 private:
  void* Take();
  void ReturnHandle(void* handle);

  std::mutex mutex_;
  std::vector<void*> idle_;  // CURL*
};

}  // namespace acl::s3
