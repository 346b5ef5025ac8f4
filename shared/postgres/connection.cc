#include "shared/postgres/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <pqxx/nontransaction>

#include "shared/base/memory.h"
#include "shared/base/uuid7.h"
#include "shared/postgres/pooler.h"

namespace acl::pg {
namespace {

bool IsUrl(const std::string& conninfo) { return conninfo.rfind("postgres://", 0) == 0 || conninfo.rfind("postgresql://", 0) == 0; }

void AddSetting(std::string& conninfo, const std::string& key, const std::string& value) {
  if (conninfo.find(key + "=") != std::string::npos) return;
  if (IsUrl(conninfo)) {
    conninfo += conninfo.find('?') == std::string::npos ? '?' : '&';
    conninfo += key + "=" + value;
  } else {
    conninfo += " " + key + "=" + value;
  }
}

const Statement kRowTypes("connection.row_types", Statement::Kind::kRead,
                          "SELECT t.typname, t.oid::bigint FROM unnest($names::text[]) AS n(name) JOIN pg_type t ON t.typname = n.name "
                          "AND t.typnamespace = 'public'::regnamespace AND t.typtype = 'c'");

std::string Millis(milliseconds value) { return std::to_string(value.count()); }

std::string QuoteIdentifier(const std::string& name) {
  std::string out = "\"";
  for (char c : name) {
    out += c;
    if (c == '"') out += '"';
  }
  return out + "\"";
}

std::string SettingsScript(const ConnectionSettings& s) {
  std::string sql = "SET statement_timeout = " + Millis(s.statement_timeout) + "; SET lock_timeout = " + Millis(s.lock_timeout) +
                    "; SET idle_in_transaction_session_timeout = " + Millis(s.idle_in_transaction_timeout) +
                    "; SET timezone = 'UTC'; SET datestyle = 'ISO'; SET bytea_output = 'hex'; SET client_min_messages = warning"
                    "; SET jit = off; SET search_path = public";
  if (s.pinned_plans) {
    sql += "; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";
  }
  if (!s.role.empty()) sql += "; SET ROLE " + QuoteIdentifier(s.role);
  return sql;
}

// Asked more than once: in between, a busy pool may hand that session to somebody else.
bool SharesSession(pqxx::nontransaction& session, const ConnectionSettings& settings) {
  constexpr int kTries = 3;
  const std::string name = "acl.session", value = NewUuid7().ToString();
  for (int i = 0; i < kTries; ++i) {
    session.exec("SET " + name + " = '" + value + "'");
    if (AnotherConnectionSees(FullConninfo(settings), name, value)) return true;
  }
  return false;
}

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.rfind("ERROR:  ", 0) == 0) text.erase(0, 8);
  return text;
}

// libpqxx 6 makes some of its exceptions without the SQLSTATE they stand for.
std::string StateOf(const pqxx::sql_error& error) {
  if (!error.sqlstate().empty()) return error.sqlstate();
  if (dynamic_cast<const pqxx::insufficient_privilege*>(&error) != nullptr) return "42501";
  if (dynamic_cast<const pqxx::undefined_table*>(&error) != nullptr) return "42P01";
  if (dynamic_cast<const pqxx::undefined_function*>(&error) != nullptr) return "42883";
  if (dynamic_cast<const pqxx::undefined_column*>(&error) != nullptr) return "42703";
  if (dynamic_cast<const pqxx::syntax_error*>(&error) != nullptr) return "42601";
  if (dynamic_cast<const pqxx::unique_violation*>(&error) != nullptr) return "23505";
  if (dynamic_cast<const pqxx::check_violation*>(&error) != nullptr) return "23514";
  if (dynamic_cast<const pqxx::integrity_constraint_violation*>(&error) != nullptr) return "23000";
  if (dynamic_cast<const pqxx::data_exception*>(&error) != nullptr) return "22000";
  if (dynamic_cast<const pqxx::too_many_connections*>(&error) != nullptr) return "53300";
  if (dynamic_cast<const pqxx::disk_full*>(&error) != nullptr) return "53100";
  if (dynamic_cast<const pqxx::insufficient_resources*>(&error) != nullptr) return "53000";
  if (dynamic_cast<const pqxx::feature_not_supported*>(&error) != nullptr) return "0A000";
  return {};
}

// A table, function, schema or column that is not there: the database is not migrated, or older than the binary.
bool LacksSchema(const std::string& state) { return state == "42P01" || state == "42883" || state == "3F000" || state == "42703"; }

// What a caller can do about it, from SQLSTATE (PostgreSQL appendix A; AC... are ours, migrations/0003_leases.sql).
Code CodeOf(const std::string& state, bool write) {
  std::string cls = state.substr(0, 2);
  if (state == "AC001") return Code::kLeaseLost;
  if (state == "AC002") return Code::kConflict;
  if (state == "AC003") return Code::kNotFound;
  if (state == "AC004") return Code::kUnavailable;
  if (state == "AC005") return Code::kInvalid;
  if (state == "57014" || state == "55P03") return Code::kTimeout;
  if (state == "57P01" || state == "57P02" || cls == "08") return write ? Code::kOutcomeUnknown : Code::kUnavailable;
  if (state == "57P03" || state == "25006" || state == "55000" || cls == "53" || cls == "40" || cls == "58") return Code::kUnavailable;
  if (state == "42501") return Code::kDenied;
  if (cls == "23") return Code::kConflict;
  if (cls == "22" || cls == "54") return Code::kInvalid;
  if (LacksSchema(state)) return Code::kUnavailable;  // not migrated yet
  return Code::kInternal;
}

// Ours, or libpq's for an answer that it cannot hold: it then calls the connection broken, which it is not for anybody else.
bool IsShortOfMemory(const std::exception& thrown) {
  return dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ||
         std::string_view(thrown.what()).find("out of memory") != std::string_view::npos;
}

}  // namespace

std::string FullConninfo(const ConnectionSettings& settings) {
  std::string conninfo = settings.conninfo;
  AddSetting(conninfo, "application_name", settings.application_name);
  AddSetting(conninfo, "connect_timeout", std::to_string(std::max<long long>(2, settings.connect_timeout.count() / 1000)));
  AddSetting(conninfo, "tcp_user_timeout", Millis(settings.tcp_user_timeout));
  AddSetting(conninfo, "keepalives_idle", "10");
  AddSetting(conninfo, "client_encoding", "UTF8");
  return conninfo;
}

bool SqlError::item_is_bad() const {
  std::string cls = sqlstate.substr(0, 2);
  return cls == "22" || cls == "23" || cls == "54";
}

Result<std::unique_ptr<Connection>> Connection::Open(const ConnectionSettings& settings) {
  std::unique_ptr<Connection> made(new Connection(settings));
  try {
    made->connection_ = std::make_unique<pqxx::connection>(FullConninfo(settings));
#if PQXX_VERSION_MAJOR < 7
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    made->connection_->activate();
    made->connection_->inhibit_reactivation(true);  // else a dead connection comes back without its settings
#pragma GCC diagnostic pop
#endif
    pqxx::nontransaction setup(*made->connection_);
    const pqxx::result served = setup.exec(SettingsScript(settings) + "; SELECT pg_backend_pid()");
    // A pooler makes up the process id that it gives to its client.
    if (served.at(0).at(0).as<int>() != made->connection_->backendpid() && SharesSession(setup, settings))
      return Error{Code::kUnavailable, kSharedSession};
  } catch (const pqxx::sql_error& e) {
    return Error{Code::kUnavailable, "PostgreSQL refused the session's settings: " + Trimmed(e.what()) +
                                         (StateOf(e) == "22023" || StateOf(e) == "42704" || StateOf(e) == "42501"
                                              ? " (is the database migrated? run: airun db migrate)"
                                              : "")};
  } catch (const std::exception& e) {
    return Error{Code::kUnavailable, "PostgreSQL cannot be reached: " + Trimmed(e.what())};
  }
  if (settings.on_open) {
    if (Status allowed = settings.on_open(*made); !allowed) return allowed.error();
  }
  return made;
}

Connection::~Connection() {
  try {
    transaction_.reset();
    connection_.reset();
  } catch (...) {  // a connection that is gone cannot be closed
  }
}

bool Connection::StillThere() {
  if (broken_) return false;
  pollfd waiting{connection_->sock(), POLLIN, 0};
  // Nothing is expected on an idle connection: readable means that the server hung up or said goodbye.
  if (waiting.fd < 0 || poll(&waiting, 1, 0) != 0) broken_ = true;
  return !broken_;
}

void Connection::Cut() { shutdown(connection_->sock(), SHUT_RDWR); }

const NumberedSql& Connection::Prepare(const Statement& statement) {
  auto it = prepared_.find(statement.name());
  if (it != prepared_.end()) return it->second;
  auto replaced = settings_.override_sql.find(statement.name());
  NumberedSql numbered = replaced == settings_.override_sql.end() ? statement.numbered() : NumberParameters(replaced->second);
  connection_->prepare(statement.name(), numbered.sql);
  return prepared_.emplace(statement.name(), std::move(numbered)).first->second;
}

pqxx::result Connection::Execute(pqxx::transaction_base& transaction, const Statement& statement, const Params& params) {
  const NumberedSql& numbered = Prepare(statement);
  std::vector<pqxx::binarystring> values;
  values.reserve(numbered.parameters.size());
  for (const std::string* value : params.InOrder(numbered.parameters, statement.name())) values.emplace_back(*value);
  return transaction.exec_prepared(statement.name(), pqxx::prepare::make_dynamic_params(values));
}

Error Connection::Convert(const std::exception& thrown, bool write, const std::string& doing, SqlError* details) {
  SqlError found;
  if (dynamic_cast<const pqxx::in_doubt_error*>(&thrown) != nullptr) {
    broken_ = true;
    found.error = Error{Code::kOutcomeUnknown, doing + ": the answer to COMMIT was lost: " + Trimmed(thrown.what())};
  } else if (auto* sql = dynamic_cast<const pqxx::sql_error*>(&thrown); sql != nullptr && !StateOf(*sql).empty()) {
    found.sqlstate = StateOf(*sql);
    Code code = CodeOf(found.sqlstate, write);
    if (code == Code::kOutcomeUnknown || found.sqlstate == "25006" || found.sqlstate.rfind("57P", 0) == 0) broken_ = true;
    found.error = Error{code, doing + ": " + Trimmed(sql->what()) + " [" + found.sqlstate + "]"};
    constexpr const char* kNoSuchStatement = "26000";
    if (found.sqlstate == kNoSuchStatement) found.error = Error{Code::kUnavailable, doing + ": " + kSharedSession};
    if (LacksSchema(found.sqlstate)) found.error.message += "; is the schema there? `airun db migrate` brings it";
  } else if (dynamic_cast<const pqxx::deadlock_detected*>(&thrown) != nullptr ||
             dynamic_cast<const pqxx::serialization_failure*>(&thrown) != nullptr) {
    found.sqlstate = dynamic_cast<const pqxx::deadlock_detected*>(&thrown) != nullptr ? "40P01" : "40001";
    found.error = Error{Code::kUnavailable, doing + ": " + Trimmed(thrown.what()) + " [" + found.sqlstate + "]"};
  } else if (IsShortOfMemory(thrown)) {
    broken_ = true;  // an answer may be on its way
    found.error = Error{write ? Code::kOutcomeUnknown : Code::kUnavailable, doing + ": " + std::string(kOutOfMemory)};
  } else if (dynamic_cast<const pqxx::broken_connection*>(&thrown) != nullptr || dynamic_cast<const pqxx::sql_error*>(&thrown) != nullptr ||
             !connection_->is_open()) {
    broken_ = true;
    found.error = Error{write ? Code::kOutcomeUnknown : Code::kUnavailable,
                        doing + ": the connection to PostgreSQL broke: " + Trimmed(thrown.what())};
  } else {
    broken_ = true;  // its state is not known
    found.error = Error{Code::kInternal, doing + ": " + Trimmed(thrown.what())};
  }
  if (details != nullptr) *details = found;
  return found.error;
}

Result<Rows> Connection::Run(const Statement& statement, const Params& params) { return Run(statement, params, nullptr); }

Result<Rows> Connection::Run(const Statement& statement, const Params& params, SqlError* details) {
  // Inside a transaction nothing is kept unless COMMIT is answered, so a lost answer before it is no doubt.
  bool doubt = statement.kind() == Statement::Kind::kWrite && !transaction_;
  try {
    if (transaction_) return Rows(Execute(*transaction_, statement, params));
    pqxx::nontransaction one(*connection_);
    return Rows(Execute(one, statement, params));
  } catch (const std::exception& e) {
    return Convert(e, doubt, statement.name(), details);
  }
}

Result<const RowTypes*> Connection::SentTypes() {
  if (!sent_types_.empty()) return &sent_types_;
  Array wanted(Oid::kText);
  for (const char* name : kSentTypes) wanted.Text(name);
  Params params;
  auto rows = Run(kRowTypes, params.List("names", wanted));
  if (!rows) return rows.error();
  if (std::size_t(rows->size()) != std::size(kSentTypes)) {
    return Error{Code::kUnavailable,
                 "the database has no types for the rows of a commit or a create: is it migrated? run: airun db migrate"};
  }
  for (int i = 0; i < rows->size(); ++i) sent_types_[rows->Text(i, 0)] = Oid(rows->Int(i, 1));
  return &sent_types_;
}

Result<Rows> Connection::RunScript(const std::string& sql) {
  try {
    if (transaction_) return Rows(transaction_->exec(sql));
    pqxx::nontransaction one(*connection_);
    return Rows(one.exec(sql));
  } catch (const std::exception& e) {
    return Convert(e, !transaction_, "script", nullptr);
  }
}

Status Connection::Begin() {
  ACL_CHECK(!transaction_, "a transaction is open already");
  try {
    transaction_ = std::make_unique<pqxx::work>(*connection_);
    return {};
  } catch (const std::exception& e) {
    transaction_.reset();
    return Convert(e, false, "begin", nullptr);
  }
}

Status Connection::Commit() {
  ACL_CHECK(transaction_ != nullptr, "no transaction is open");
  try {
    transaction_->commit();
    transaction_.reset();
    return {};
  } catch (const std::exception& e) {
    Error error = Convert(e, true, "commit", nullptr);
    Rollback();
    return error;
  }
}

void Connection::Rollback() {
  try {
    transaction_.reset();  // aborts what is not committed
  } catch (...) {
    broken_ = true;
  }
}

}  // namespace acl::pg
