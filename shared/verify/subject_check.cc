#include "shared/verify/subject_check.h"

#include <fmt/format.h>

#include "shared/verify/journal_check.h"
#include "shared/verify/row_checks.h"

namespace acl::verify {

struct SubjectCheck::Parts {
  const SubjectRows& rows;
  const ContentSource& contents;
  const KindChecks* kind;
  Report& report;
  JournalWalk walk;
  std::vector<EventFact> facts;

  void CheckKind(const Document& state);
};

SubjectCheck::SubjectCheck(const SubjectRows& rows, const ContentSource& contents, const KindChecks* kind, Report& report)
    : parts_(new Parts{rows, contents, kind, report, JournalWalk(rows, contents.read, report), {}}) {}

SubjectCheck::~SubjectCheck() = default;

void SubjectCheck::Feed(const Event& event) {
  for (EventFact& fact : FactsOf(event, parts_->walk.Step(event))) parts_->facts.push_back(std::move(fact));
}

// What the state itself says about other tables: only its kind can read it.
void SubjectCheck::Parts::CheckKind(const Document& state) {
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
  Parts& p = *parts_;
  p.walk.Finish();
  CheckTokens(p.rows, p.facts, p.report);
  CheckCompletions(p.rows, p.facts, p.report);
  CheckCompensations(p.rows, p.facts, p.report);
  CheckOpenState(p.rows, p.report);
  if (p.kind != nullptr && p.kind->facts && p.walk.state()) p.CheckKind(*p.walk.state());
}

void CheckSubject(const SubjectRows& rows, const ContentSource& contents, Report& report, const KindChecks* kind) {
  SubjectCheck check(rows, contents, kind, report);
  for (const Event& event : rows.events) check.Feed(event);
  check.Finish();
}

}  // namespace acl::verify
