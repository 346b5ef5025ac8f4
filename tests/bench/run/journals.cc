#include "tests/bench/run/journals.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "shared/journal/event.h"

namespace acl::bench {
namespace {

struct Closes {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
};

// PostgreSQL counts microseconds from 2000-01-01.
constexpr std::int64_t kPostgresEpoch = 946'684'800'000'000;

// A value of one row in binary format.
class Row {
 public:
  explicit Row(const PGresult* result) : result_(result) {}
  std::string_view Bytes(int column) const {
    return {PQgetvalue(result_, 0, column), static_cast<std::size_t>(PQgetlength(result_, 0, column))};
  }
  std::int64_t Integer(int column) const {
    std::uint64_t value = 0;
    const std::string_view bytes = Bytes(column);
    for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return bytes.size() == 2 ? static_cast<std::int16_t>(value) : static_cast<std::int64_t>(value);
  }
  template <class T>
  T Fixed(int column) const {
    T value{};
    const std::string_view bytes = Bytes(column);
    if (bytes.size() != value.size()) throw std::runtime_error("a column has another length than its type");
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(value.data()));
    return value;
  }
  bool Null(int column) const { return PQgetisnull(result_, 0, column) == 1; }

 private:
  const PGresult* result_;
};

Event EventOf(const Row& row) {
  Event event;
  event.subject = SubjectId{Uuid{row.Fixed<decltype(Uuid::bytes)>(0)}};
  event.seq = row.Integer(1);
  event.type = row.Bytes(2);
  event.schema_version = static_cast<int>(row.Integer(3));
  event.producer_version = row.Bytes(4);
  event.token = Token{row.Integer(5)};
  event.timestamp = WallTimeFromMicros(row.Integer(6) + kPostgresEpoch);
  event.checksum = row.Fixed<Hash256>(7);
  event.content_hash = row.Fixed<Hash256>(8);
  event.chain = row.Fixed<Hash256>(9);
  if (!row.Null(10)) event.payload = std::string(row.Bytes(10));
  return event;
}

// The journals whose id's last byte leaves this remainder.
std::int64_t VerifyPart(const std::string& conninfo, int part, int parts, bool apart) {
  const std::unique_ptr<PGconn, Closes> connection(PQconnectdb(conninfo.c_str()));
  const std::string sql = fmt::format(
      "SELECT subject_id, seq, type, schema_version, producer_version, token, at, checksum, content_hash, chain, payload FROM event_rows "
      "WHERE get_byte(uuid_send(subject_id), 15) % {} = {} ORDER BY subject_id, seq",
      parts, part);
  if (PQsendQueryParams(connection.get(), sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1) != 1 ||
      PQsetSingleRowMode(connection.get()) != 1) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  std::int64_t events = 0;
  SubjectId subject;
  Hash256 chain{};
  for (std::unique_ptr<PGresult, Closes> result(PQgetResult(connection.get())); result; result.reset(PQgetResult(connection.get()))) {
    const auto status = PQresultStatus(result.get());
    if (status == PGRES_TUPLES_OK) continue;
    if (status != PGRES_SINGLE_TUPLE) throw std::runtime_error(PQerrorMessage(connection.get()));
    const Event event = EventOf(Row(result.get()));
    if (!event.payload && !apart) throw std::runtime_error(fmt::format("event {} of {} has no text", event.seq, event.subject.ToString()));
    if (event.seq == 1) {
      subject = event.subject;
      chain = ChainStart(subject);
    }
    const Status good = event.subject == subject ? Verify(event, chain) : Status(Code::kCorrupt, "the journal has no first event");
    if (!good) throw std::runtime_error(good.message());
    chain = event.chain;
    ++events;
  }
  return events;
}

}  // namespace

std::int64_t VerifyJournals(const std::string& conninfo, int threads, bool apart) {
  std::vector<std::int64_t> events(static_cast<std::size_t>(threads));
  std::vector<std::string> errors(events.size());
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      const auto at = static_cast<std::size_t>(i);
      try {
        events[at] = VerifyPart(conninfo, i, threads, apart);
      } catch (const std::exception& error) {
        errors[at] = error.what();
      }
    });
  }
  for (auto& thread : all) thread.join();
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!errors[i].empty()) throw std::runtime_error(errors[i]);
    sum += events[i];
  }
  return sum;
}

}  // namespace acl::bench
