#include "shared/postgres/pooler.h"

#include <libpq-fe.h>
#include <poll.h>

#include <memory>

namespace acl::pg {
namespace {

constexpr int kOneWaitMs = 100, kMostWaits = 20;

using RawConnection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
using RawResult = std::unique_ptr<PGresult, decltype(&PQclear)>;

// False if there were too many waits already.
bool WaitFor(PGconn* connection, short events, int* waits) {
  pollfd socket{PQsocket(connection), events, 0};
  while (socket.fd >= 0 && (*waits)++ < kMostWaits) {
    if (poll(&socket, 1, kOneWaitMs) > 0) return true;
  }
  return false;
}

bool ConnectInTime(PGconn* connection, int* waits) {
  if (connection == nullptr || PQstatus(connection) == CONNECTION_BAD) return false;
  for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK; next = PQconnectPoll(connection)) {
    if (next == PGRES_POLLING_FAILED) return false;
    if (!WaitFor(connection, next == PGRES_POLLING_READING ? POLLIN : POLLOUT, waits)) return false;
  }
  return true;
}

// The one value that it answers; empty if it does not in time.
std::string AskInTime(PGconn* connection, const std::string& sql, int* waits) {
  if (PQsendQuery(connection, sql.c_str()) != 1) return {};
  while (PQisBusy(connection) != 0) {
    if (!WaitFor(connection, POLLIN, waits) || PQconsumeInput(connection) != 1) return {};
  }
  const RawResult result(PQgetResult(connection), &PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK || PQntuples(result.get()) != 1) return {};
  return PQgetvalue(result.get(), 0, 0);
}

}  // namespace

bool AnotherConnectionSees(const std::string& conninfo, const std::string& name, const std::string& value) {
  int waits = 0;
  const RawConnection other(PQconnectStart(conninfo.c_str()), &PQfinish);
  return ConnectInTime(other.get(), &waits) && AskInTime(other.get(), "SELECT current_setting('" + name + "', true)", &waits) == value;
}

}  // namespace acl::pg
