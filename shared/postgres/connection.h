#pragma once
// One connection to PostgreSQL: the traps of libpqxx 6 hidden (it reconnects silently and forgets its settings; statements are
// prepared late; a broken connection must be dropped), exceptions turned into errors once, by SQLSTATE. Used by one thread at a time.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <pqxx/pqxx>
#include <string>
#include <vector>

#include "shared/base/result.h"
#include "shared/postgres/statement.h"

namespace acl::pg {

using std::chrono::milliseconds;

class Connection;

struct ConnectionSettings {
  std::string conninfo;  // URL or key=value
  std::string application_name = "acl";
  std::string role;  // SET ROLE after connecting; empty: as logged in
  milliseconds statement_timeout{5'000};
  milliseconds lock_timeout{1'000};
  milliseconds idle_in_transaction_timeout{5'000};
  milliseconds tcp_user_timeout{5'000};  // a half-open connection fails after this, not after minutes
  milliseconds connect_timeout{5'000};
  std::function<Status(Connection&)> on_open;       // asked once of every new connection; its error is what Open answers
  bool pinned_plans = false;                        // hot statements: generic plans over the primary keys, never a scan or a hash
  std::map<std::string, std::string> override_sql;  // tests: statement name -> text with named parameters
};

// The conninfo with the settings that libpq takes at connecting added (a value given by the user stays).
std::string FullConninfo(const ConnectionSettings& settings);

// The result of a statement; values by row and column.
class Rows {
 public:
  Rows() = default;
  explicit Rows(const pqxx::result& result) : result_(result) {}  // shares the rows, copies nothing
  int size() const { return int(result_.size()); }
  int columns() const { return int(result_.columns()); }
  std::int64_t affected() const { return std::int64_t(result_.affected_rows()); }
  bool IsNull(int row, int column) const { return Field(row, column).is_null(); }
  std::string_view View(int row, int column) const {
    auto field = Field(row, column);
    return {field.c_str(), field.size()};
  }
  std::string Text(int row, int column) const { return std::string(View(row, column)); }
  std::int64_t Int(int row, int column) const { return DecodeInt(View(row, column)); }
  bool Bool(int row, int column) const { return DecodeBool(View(row, column)); }
  Uuid Id(int row, int column) const { return DecodeUuid(View(row, column)); }
  Hash256 Hash(int row, int column) const { return DecodeHash(View(row, column)); }
  std::string Bytes(int row, int column) const { return DecodeBytes(View(row, column)); }
  WallTime Time(int row, int column) const { return DecodeTime(View(row, column)); }
  std::optional<WallTime> MaybeTime(int row, int column) const {
    return IsNull(row, column) ? std::nullopt : std::optional(Time(row, column));
  }
  std::optional<std::string> MaybeText(int row, int column) const {
    return IsNull(row, column) ? std::nullopt : std::optional(Text(row, column));
  }

 private:
  pqxx::field Field(int row, int column) const { return result_.at(pqxx::result::size_type(row)).at(pqxx::row::size_type(column)); }
  pqxx::result result_;
};

// An error with what PostgreSQL said beside it.
struct SqlError {
  Error error;
  std::string sqlstate;      // empty: not from the server
  bool item_is_bad() const;  // constraint, data or limit: the statement's input is at fault, not the moment
  bool retry_at_once() const { return sqlstate == "40001" || sqlstate == "40P01"; }
};

class Connection {
 public:
  // kUnavailable with the reason if it cannot be reached.
  static Result<std::unique_ptr<Connection>> Open(const ConnectionSettings& settings);
  ~Connection();

  // One statement in a transaction of its own: one round trip.
  Result<Rows> Run(const Statement& statement, const Params& params = {});
  // The same, and what the server said on failure.
  Result<Rows> Run(const Statement& statement, const Params& params, SqlError* details);
  // The row types that are sent (migrations/0013_statement_rows.sql), asked for once.
  Result<const RowTypes*> SentTypes();
  // Text of several statements without parameters (migrations, settings). Not for values.
  Result<Rows> RunScript(const std::string& sql);

  // A transaction across round trips, only where a decision stands in between (direct command). Not begun twice.
  Status Begin();
  // kOutcomeUnknown if the answer is lost.
  Status Commit();
  void Rollback();

  // Dead: drop it. A connection that broke never works again.
  bool broken() const { return broken_; }
  // False if the server hung up while nobody used it: then nothing was sent yet and another connection may be taken without doubt.
  bool StillThere();
  // Its socket ends both ways, as if the network had cut it; the next statement finds out.
  void Cut();

 private:
  explicit Connection(const ConnectionSettings& settings) : settings_(settings) {}
  Error Convert(const std::exception& thrown, bool write, const std::string& doing, SqlError* details);
  pqxx::result Execute(pqxx::transaction_base& transaction, const Statement& statement, const Params& params);
  const NumberedSql& Prepare(const Statement& statement);

  ConnectionSettings settings_;
  std::unique_ptr<pqxx::connection> connection_;
  std::unique_ptr<pqxx::work> transaction_;
  std::map<std::string, NumberedSql> prepared_;
  RowTypes sent_types_;
  bool broken_ = false;
};

}  // namespace acl::pg
