#include "tests/bench/wire/database.h"

#include <poll.h>

#include <stdexcept>

namespace acl::bench {

void ArrayParam::Put(std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) text_.push_back(static_cast<char>(value >> shift & 0xff));
}

void ArrayParam::Clear() {
  text_.clear();
  count_ = 0;
  Put(1, 4);  // dimensions
  Put(0, 4);  // no nulls
  Put(element_, 4);
  Put(0, 4);  // how many: Finish knows
  Put(1, 4);  // lower bound
}

void ArrayParam::AddInteger(std::uint64_t value, int bytes) {
  Put(static_cast<std::uint64_t>(bytes), 4);
  Put(value, bytes);
  ++count_;
}

void ArrayParam::AddBytes(std::string_view bytes) {
  Put(bytes.size(), 4);
  text_.append(bytes);
  ++count_;
}

const std::string& ArrayParam::Finish() {
  for (int i = 0; i < 4; ++i) text_[12 + static_cast<std::size_t>(i)] = static_cast<char>(count_ >> (24 - 8 * i) & 0xff);
  return text_;
}

Database::Database(const std::string& conninfo) : connection_(PQconnectdb(conninfo.c_str())) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) Fail("no connection to the database");
  Run("SET client_min_messages = warning");
}

void Database::Fail(const std::string& what) { throw std::runtime_error(what + ": " + PQerrorMessage(connection_.get())); }

std::vector<Database::Row> Database::Rows(const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection_.get(), sql.c_str()), PQclear);
  const auto status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) Fail(sql);
  std::vector<Row> rows(static_cast<std::size_t>(PQntuples(result.get())));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      rows[i].emplace_back(PQgetvalue(result.get(), static_cast<int>(i), column));
    }
  }
  return rows;
}

std::string Database::Value(const std::string& sql) {
  const auto rows = Rows(sql);
  if (rows.size() != 1 || rows[0].empty()) throw std::runtime_error("not one row: " + sql);
  return rows[0][0];
}

double Database::Number(const std::string& sql) {
  const std::string value = Value(sql);
  return value.empty() ? 0 : std::stod(value);
}

void Database::Prepare(const std::string& name, const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQprepare(connection_.get(), name.c_str(), sql.c_str(), 0, nullptr), PQclear);
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) Fail(sql);
  PQsetnonblocking(connection_.get(), 1);
}

void Database::Send(const std::string& name, const std::vector<const std::string*>& parameters) {
  const char* values[16];
  int lengths[16], formats[16];
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    values[i] = parameters[i]->data();
    lengths[i] = static_cast<int>(parameters[i]->size());
    formats[i] = 1;
  }
  const int count = static_cast<int>(parameters.size());
  if (PQsendQueryPrepared(connection_.get(), name.c_str(), count, values, lengths, formats, 0) != 1) Fail(name);
  for (int left = PQflush(connection_.get()); left != 0; left = PQflush(connection_.get())) {
    if (left < 0) Fail(name);
    pollfd wait{socket(), POLLIN | POLLOUT, 0};
    poll(&wait, 1, 1000);
    if ((wait.revents & POLLIN) != 0) PQconsumeInput(connection_.get());
  }
}

bool Database::Finished() {
  if (PQconsumeInput(connection_.get()) != 1) Fail("reading an answer");
  return PQisBusy(connection_.get()) == 0;
}

long Database::Take() {
  std::unique_ptr<PGresult, decltype(&PQclear)> result(PQgetResult(connection_.get()), PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) Fail("a statement of the model");
  const long value = std::stol(PQgetvalue(result.get(), 0, 0));
  for (result.reset(PQgetResult(connection_.get())); result; result.reset(PQgetResult(connection_.get()))) {
  }
  return value;
}

}  // namespace acl::bench
