#include <fmt/format.h>

#include "shared/verify/row_checks.h"

namespace acl::verify {

namespace {

// Held by nobody and not closed: something must be there that wakes it, or commands it.
void CheckFree(const SubjectRows& rows, const LeaseRow& lease, bool commanded, const std::string& key, Report& report) {
  const bool outside = commanded || rows.timers > 0 || rows.unread_inbox > 0 || rows.open_dispatches > 0;
  report.Check("open.state", rows.ready_rows > 0 || outside || !lease.waiting_reason.empty(), "leases", key,
               "leased, ready, or waiting for something", "none of them: nothing would ever wake it");
  const bool woken = rows.ready_rows > 0 || rows.unread_inbox > 0;
  const std::string& reason = lease.waiting_reason;
  report.Check("dispatch.wakes", reason != "dispatch" || woken || rows.open_dispatches > 0, "dispatches", key,
               "a dispatch that is open: it waits for one", "none");
  report.Check("timer.named", (reason != "retry" && reason != "timer") || woken || lease.next_wake.has_value() || rows.timers > 0, "leases",
               key, fmt::format("when it is woken, or a timer: it waits ({})", reason), "neither");
  // Every input to a free subject comes with a ready row, which only a claim takes; and a claim reads the inbox.
  report.Check("inbox.wakes", rows.unread_inbox == 0 || rows.ready_rows > 0, "ready", key, "a row: its inbox is not read",
               fmt::format("none for {} unread inbox rows", rows.unread_inbox));
  if (!lease.next_wake) return;
  // A later timer, of its deadline, say, would wake it too late.
  report.Check("timer.wakes", woken || (rows.first_timer && *rows.first_timer <= *lease.next_wake), "timers", key,
               fmt::format("a timer: it waits ({}) until {}", reason, FormatWallTime(*lease.next_wake)),
               rows.first_timer ? "the first is at " + FormatWallTime(*rows.first_timer) : "none");
}

}  // namespace

void CheckOpenState(const SubjectRows& rows, bool commanded, Report& report) {
  const std::string key = rows.subject.ToString();
  report.Check("lease.exists", rows.lease.has_value(), "leases", key, "a row while the subject exists", "none");
  if (!rows.lease) return;
  const LeaseRow& lease = *rows.lease;
  const bool quarantined = lease.state == LeaseRow::State::kQuarantined;
  report.Check("quarantine.row", rows.open_quarantines == (quarantined ? 1 : 0), "quarantine", key,
               quarantined ? "one row that is not released" : "no row that is not released", std::to_string(rows.open_quarantines));
  report.Check("wake.counter", lease.wake >= rows.unread_inbox, "leases", key,
               fmt::format("wake of at least {}, raised by every inbox row", rows.unread_inbox), std::to_string(lease.wake));
  if (quarantined) {
    report.Check("open.state", !lease.session, "leases", key, "quarantined and held by nobody", "held");
  } else if (lease.state == LeaseRow::State::kClosed) {
    const std::string left =
        fmt::format("{} holders, {} timers, {} unread inbox rows", lease.session ? 1 : 0, rows.timers, rows.unread_inbox);
    report.Check("closed.rows", !lease.session && rows.timers == 0 && rows.unread_inbox == 0, "leases", key,
                 "a closed subject with nothing left", left);
  } else if (!lease.session) {
    CheckFree(rows, lease, commanded, key, report);
  } else {
    report.Check("open.state", true, "leases", key, "", "");
  }
}

}  // namespace acl::verify
