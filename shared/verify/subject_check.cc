#include "shared/verify/subject_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/journal/segment.h"
#include "shared/verify/journal_check.h"
#include "shared/verify/row_checks.h"

namespace acl::verify {

struct SubjectCheck::Impl {
  const SubjectRows& rows;
  const ContentSource& contents;
  const KindChecks* kind;
  Report& report;
  JournalWalk walk;
  std::vector<EventFact> facts;
  std::int64_t ended_at = 0;  // the event that ends the subject; 0: none so far
  std::int64_t oldest = 0;    // event that is kept
  SaidRows event_rows{};      // rows that the events make

  void FollowEnd(std::int64_t seq, std::string_view type);
  void CheckEnd();
  void CheckKind(const Document& state);
};

SubjectCheck::SubjectCheck(const SubjectRows& rows, const ContentSource& contents, const KindChecks* kind, Report& report)
    : impl_(new Impl{rows, contents, kind, report, JournalWalk(rows, contents.read, report), {}, 0, 0, {}}) {}

SubjectCheck::~SubjectCheck() = default;

void SubjectCheck::Feed(const Event& event) {
  if (impl_->oldest == 0) {
    impl_->oldest = event.seq;
    impl_->event_rows.whole = event.seq == 1;  // what dropped events said is shown, and nothing here says it
  }
  const std::optional<Json> payload = impl_->walk.Step(event);
  for (EventFact& fact : FactsOf(event, payload)) impl_->facts.push_back(std::move(fact));
  impl_->FollowEnd(event.seq, event.type);
  for (const std::string& type : JoinedTypes(payload)) impl_->FollowEnd(event.seq, type);
  if (impl_->kind == nullptr || !impl_->kind->show_event) return;
  if (!payload) {
    impl_->event_rows.whole = false;
    return;
  }
  for (ShownRow& row : impl_->kind->show_event(event.type, *payload, event.timestamp))
    impl_->event_rows.rows.insert_or_assign({row.table, row.id}, std::move(row));
}

// A subject ends once. An input that came too late is refused behind the end; nothing else may happen there.
void SubjectCheck::Impl::FollowEnd(std::int64_t seq, std::string_view type) {
  if (kind == nullptr || !kind->ends || !kind->may_follow_the_end || type == kJournalRolled) return;
  if (ended_at > 0) {
    report.Check("journal.end", kind->may_follow_the_end(type), "event_rows", fmt::format("{}/{}", rows.subject.ToString(), seq),
                 fmt::format("nothing behind event {}, which ends the subject", ended_at), std::string(type));
  } else if (kind->ends(type)) {
    ended_at = seq;
  }
}

void SubjectCheck::Impl::CheckEnd() {
  if (kind == nullptr || !kind->ends || !rows.lease || rows.lease->state != LeaseRow::State::kClosed) return;
  const bool readable = std::all_of(facts.begin(), facts.end(), [](const EventFact& fact) { return fact.readable; });
  if (!readable || (ended_at == 0 && oldest > 1)) return;  // the end may be what joined an event whose content was removed, or was dropped
  report.Check("journal.end", ended_at > 0, "event_rows", rows.subject.ToString(), "an event that ends the subject", "closed without one");
}

// What the state itself says about other tables: only its kind can read it.
void SubjectCheck::Impl::CheckKind(const Document& state) {
  const std::string subject = rows.subject.ToString();
  auto said = kind->facts(state);
  report.Check("state.kind", said.ok(), "event_rows", subject, "a state of kind " + rows.kind, said ? "" : said.message());
  if (!said) return;
  if (said->status) {
    const std::string listed = rows.listed_status.value_or("none");
    report.Check("listing.status", listed == *said->status, "listings", subject, *said->status + " (by replay)", listed);
  }
  for (const auto& [name, hash] : said->contents) {
    if (!contents.check) break;
    Status content = contents.check(hash);
    report.Check("content.referred", content.ok(), "contents", ToHex(hash), fmt::format("the content of {} of {}", name, subject),
                 content ? "" : content.message());
  }
}

void SubjectCheck::Finish() {
  Impl& p = *impl_;
  p.walk.Finish();
  CheckTokens(p.rows, p.facts, p.report);
  CheckCompletions(p.rows, p.facts, p.report);
  CheckCompensations(p.rows, p.facts, p.report);
  CheckOpenState(p.rows, p.kind != nullptr && p.kind->commanded, p.report);
  CheckAnswers(p.rows, p.report);
  p.CheckEnd();
  if (p.kind == nullptr || !p.walk.state()) return;
  if (p.kind->facts) p.CheckKind(*p.walk.state());
  if (p.kind->show || p.kind->show_state) CheckShownRows(p.rows, *p.walk.state(), p.event_rows, *p.kind, p.report);
}

void CheckSubject(const SubjectRows& rows, const ContentSource& contents, Report& report, const KindChecks* kind) {
  SubjectCheck check(rows, contents, kind, report);
  for (const Event& event : rows.events) check.Feed(event);
  check.Finish();
}

}  // namespace acl::verify
