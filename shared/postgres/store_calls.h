#pragma once
// What every pg_*_store.cc does: take a connection, run one statement, give it back.

#include "shared/base/memory.h"
#include "shared/postgres/pool.h"
#include "shared/postgres/statement.h"

namespace acl::pg {

// A deadlock or serialization failure is the moment's fault: nothing was kept, so it is sent again, at most this often.
inline constexpr int kImmediateRetries = 3;

inline Result<Rows> RunOne(Pool& pool, const Statement& statement, const Params& params) {
  for (int attempt = 1;; ++attempt) {
    auto taken = pool.Take();
    if (!taken) return taken.error();
    SqlError details;
    auto rows = (*taken)->Run(statement, params, &details);
    if (rows || !details.retry_at_once() || attempt == kImmediateRetries) return rows;
  }
}

// Decoding throws only on a bug of ours or a damaged row; it must not end the process.
template <class T, class F>
Result<T> Decoded(const char* what, F decode) {
  try {
    return decode();
  } catch (const std::bad_alloc&) {
    return Error{Code::kUnavailable, std::string(what) + ": " + std::string(kOutOfMemory)};
  } catch (const std::exception& e) {
    return Error{Code::kInternal, std::string(what) + ": " + e.what()};
  }
}

}  // namespace acl::pg
