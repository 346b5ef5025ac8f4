#include "shared/verify/verify.h"

#include <map>

#include "shared/kernel/subject_part.h"
#include "shared/verify/pg_checks.h"
#include "shared/verify/pg_verify_store.h"

namespace acl::verify {
namespace {

class Verification {
 public:
  Verification(const VerifyOptions& options, PgVerifyStore& store) : options_(options), store_(store) {
    contents_.read = [this](const Hash256& hash) { return store_.ReadContent(hash); };
    contents_.check = [this](const Hash256& hash) { return whole_contents_ ? store_.CheckContent(hash) : store_.HasContent(hash); };
  }

  Status One(const SubjectId& subject) {
    whole_contents_ = true;
    return store_.InSnapshot([&]() -> Status {
      auto there = store_.Exists(subject);
      if (!there) return there.error();
      if (!*there) return Error{Code::kNotFound, NoSuchRun(subject.ToString())};
      return Range(subject, subject);
    });
  }

  Status All() {
    Status counted = store_.InSnapshot([&]() -> Status {
      auto count = store_.CountSubjects();
      if (!count) return count.error();
      progress_.subjects = *count;
      return {};
    });
    if (!counted) return counted;
    std::optional<SubjectId> after;
    for (bool more = true; more;) {
      Status batch = store_.InSnapshot([&]() -> Status {
        auto subjects = store_.NextBatch(after);
        if (!subjects) return subjects.error();
        more = !subjects->empty();
        if (!more) return {};
        after = subjects->back();
        progress_.subjects_done += std::int64_t(subjects->size());
        return Range(subjects->front(), subjects->back());
      });
      if (!batch) return batch;
      if (options_.on_progress) options_.on_progress(progress_);
    }
    for (auto* check : {CheckTables, CheckContents, CheckDoubtfulObjects, CheckSchema}) {
      if (Status done = store_.InSnapshot([&] { return check(store_, report); }); !done) return done;
    }
    return {};
  }

  Report report;

 private:
  // Subjects in the order of their ids, each journal as it comes by.
  Status Range(const SubjectId& first, const SubjectId& last) {
    auto all = store_.ReadRows(first, last);
    if (!all) return all.error();
    auto current = all->begin();
    std::optional<SubjectCheck> check;
    auto finish = [&] {
      if (!check) Begin(*current, check);
      check->Finish();
      check.reset();
      ++current;
    };
    // A content read on the way runs on the same connection, between two pages: results are complete when they arrive.
    Status read = store_.ReadEvents(first, last, [&](const Event& event) {
      while (current != all->end() && current->subject < event.subject) finish();
      if (current == all->end() || current->subject != event.subject) return;  // of no subject: the tables' check
      if (!check) Begin(*current, check);
      check->Feed(event);
      ++progress_.events;
    });
    if (!read) return read;
    while (current != all->end()) finish();
    return {};
  }

  void Begin(const SubjectRows& rows, std::optional<SubjectCheck>& check) {
    auto kind = options_.kinds.find(rows.kind);
    check.emplace(rows, contents_, kind == options_.kinds.end() ? nullptr : &kind->second, report);
  }

  const VerifyOptions& options_;
  PgVerifyStore& store_;
  ContentSource contents_;
  bool whole_contents_ = false;
  Progress progress_;
};

Result<Report> Run(const VerifyOptions& options, const std::function<Status(Verification&)>& work) {
  auto store = PgVerifyStore::Open(options.conninfo, options.role, options.objects);
  if (!store) return store.error();
  Verification verification(options, *store);
  if (Status done = work(verification); !done) return done.error();
  return std::move(verification.report);
}

}  // namespace

Result<Report> VerifySubject(const VerifyOptions& options, const SubjectId& subject) {
  return Run(options, [&](Verification& v) { return v.One(subject); });
}

Result<Report> VerifyAll(const VerifyOptions& options) {
  return Run(options, [](Verification& v) { return v.All(); });
}

}  // namespace acl::verify
