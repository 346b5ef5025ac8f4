#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shared/verify/row_checks.h"

namespace acl::verify {

namespace {

constexpr std::int64_t kTokenEnd = std::int64_t(1) << 53;
constexpr const char* kGranted = "a token of lease_history or of the creation";

// One row a grant, tokens rising: what a later grant read of the head is never before what an earlier one read.
void CheckGrants(const SubjectRows& rows, Report& report) {
  const GrantRow* before = nullptr;
  for (const GrantRow& grant : rows.grants) {
    const std::string key = fmt::format("{}/{}", rows.subject.ToString(), grant.token.value);
    report.Check("grant.range", grant.token.value > 0 && grant.token.value < kTokenEnd, "lease_history", key, "a token of 1 to 2^53 - 1",
                 std::to_string(grant.token.value));
    report.Check("grant.order", before == nullptr || (grant.token > before->token && grant.head_seq >= before->head_seq), "lease_history",
                 key, fmt::format("above token {} and from event {} on", before ? before->token.value : 0, before ? before->head_seq : 0),
                 fmt::format("event {}", grant.head_seq));
    if (rows.head) {
      report.Check("grant.head", grant.head_seq <= rows.head->seq, "lease_history", key, fmt::format("head up to {}", rows.head->seq),
                   std::to_string(grant.head_seq));
    }
    before = &grant;
  }
}

// The lease row is the newest: at or above every token that was used; a holder's is the one granted to it.
void CheckLease(const SubjectRows& rows, Token last, Report& report) {
  if (!rows.lease) return;
  const LeaseRow& lease = *rows.lease;
  const std::string subject = rows.subject.ToString();
  if (!rows.grants.empty()) last = std::max(last, rows.grants.back().token);
  report.Check("token.lease", lease.token >= last, "leases", subject, fmt::format("at least {}", last.value),
               std::to_string(lease.token.value));
  if (!lease.session) return;
  auto grant = std::find_if(rows.grants.begin(), rows.grants.end(), [&](const GrantRow& g) { return g.token == lease.token; });
  const bool holds = grant != rows.grants.end() && grant->session == lease.session;
  report.Check("lease.grant", holds, "leases", subject,
               fmt::format("a lease_history row of token {} for session {}", lease.token.value, lease.session->ToString()),
               grant == rows.grants.end() ? "none" : "one for another session");
}

}  // namespace

void CheckTokens(const SubjectRows& rows, const std::vector<EventFact>& events, Report& report) {
  const std::string subject = rows.subject.ToString();
  CheckGrants(rows, report);
  std::set<Token> granted;
  for (const GrantRow& grant : rows.grants) granted.insert(grant.token);
  if (!events.empty() && events.front().seq == 1) granted.insert(events.front().token);  // the creation's
  const Token oldest = events.empty() ? Token{} : events.front().token;
  Token last;
  for (const EventFact& event : events) {
    const std::string key = fmt::format("{}/{}", subject, event.seq);
    const std::string found = std::to_string(event.token.value);
    report.Check("token.granted", granted.contains(event.token), "event_rows", key, kGranted, found);
    report.Check("token.order", event.token >= last, "event_rows", key, fmt::format("at least {}", last.value), found);
    last = std::max(last, event.token);
    auto grant = std::find_if(rows.grants.begin(), rows.grants.end(), [&](const GrantRow& g) { return g.token == event.token; });
    if (grant == rows.grants.end()) continue;
    // What is granted as it is made has its first events under the grant's own token.
    const bool made_with_it = grant == rows.grants.begin() && events.front().seq == 1 && events.front().token == grant->token;
    const std::int64_t above = made_with_it ? 0 : grant->head_seq;
    report.Check("token.span", event.seq > above, "event_rows", key, fmt::format("seq above {}", above), std::to_string(event.seq));
    if (auto next = grant + 1; next != rows.grants.end()) {
      report.Check("token.span", event.seq <= next->head_seq, "event_rows", key, fmt::format("seq up to {}", next->head_seq),
                   std::to_string(event.seq));
    }
  }
  auto written = [&](const char* table, const std::string& key, Token token) {
    if (token < oldest) return;  // of a journal that was dropped
    report.Check("token.granted", granted.contains(token), table, key, kGranted, std::to_string(token.value));
  };
  for (const AttemptRow& row : rows.attempts)
    written("attempt_rows", fmt::format("{}/{}/{}", subject, row.step_id, row.attempt_id), row.token);
  for (const CompletedRow& row : rows.completions) written("completion_rows", fmt::format("{}/{}", subject, row.row.step_id), row.token);
  for (std::size_t i = 0; i < rows.snapshots.size() && i < rows.snapshot_tokens.size(); ++i) {
    written("snapshot_rows", fmt::format("{}/{}", subject, rows.snapshots[i].last_event_seq), rows.snapshot_tokens[i]);
  }
  CheckLease(rows, last, report);
}

}  // namespace acl::verify
