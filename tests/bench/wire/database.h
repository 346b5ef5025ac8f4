#pragma once
// One connection to PostgreSQL by libpq: plain questions, and prepared statements with arrays in wire format. Errors are exceptions.

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace acl::bench {

// A one-dimensional array parameter in PostgreSQL's binary format, filled element by element; its memory is used again.
class ArrayParam {
 public:
  explicit ArrayParam(Oid element) : element_(element) { Clear(); }

  void Clear();
  void AddInt16(std::int16_t value) { AddInteger(static_cast<std::uint64_t>(value), 2); }
  void AddInt32(std::int32_t value) { AddInteger(static_cast<std::uint64_t>(value), 4); }
  void AddInt64(std::int64_t value) { AddInteger(static_cast<std::uint64_t>(value), 8); }
  void AddBytes(std::string_view bytes);
  // The parameter as it is sent.
  const std::string& Finish();

 private:
  void Put(std::uint64_t value, int bytes);
  void AddInteger(std::uint64_t value, int bytes);

  Oid element_;
  std::uint32_t count_ = 0;
  std::string text_;
};

inline constexpr Oid kInt16Oid = 21, kInt32Oid = 23, kInt64Oid = 20, kBytesOid = 17;

class Database {
 public:
  using Row = std::vector<std::string>;

  explicit Database(const std::string& conninfo);

  // Nulls are "".
  std::vector<Row> Rows(const std::string& sql);
  std::string Value(const std::string& sql);
  double Number(const std::string& sql);
  void Run(const std::string& sql) { Rows(sql); }

  void Prepare(const std::string& name, const std::string& sql);
  // Starts a prepared statement without waiting; Finished reads what has come and says whether all of it is there.
  void Send(const std::string& name, const std::vector<const std::string*>& binary_parameters);
  bool Finished();
  // The first column of the only row; waits if it must.
  long Take();
  int socket() const { return PQsocket(connection_.get()); }

 private:
  struct Closes {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  [[noreturn]] void Fail(const std::string& what);

  std::unique_ptr<PGconn, Closes> connection_;
};

// What a conninfo of the model's own connections carries: the plans of its statements are fixed, for an array has no statistics.
inline std::string PinnedPlans(const std::string& conninfo) {
  return conninfo + " options='-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off'";
}

}  // namespace acl::bench
