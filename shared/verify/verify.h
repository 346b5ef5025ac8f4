#pragma once
// `airun verify`: re-reads everything that is stored and checks the invariants of docs/architecture.md#invariants. Reads only, beside a
// running fleet: every subject is seen at one moment, different subjects at different ones. What is wrong is in the report; an error means
// that verification itself could not be done.
//
//   checks of one subject   journal.*  state.*  snapshot.*  head.*  token.*  grant.*  lease.*  completion.*  attempt.*  compensation.*
//                           open.state  closed.rows  inbox.wakes  timer.wakes  timer.named  dispatch.wakes  wake.counter
//                           quarantine.row
//   and what its kind says  state.kind  listing.status  content.referred  shown.row  shown.column  answer.event
//   across tables (--all)   subject.*  request.scope  listing.subject  lease.session  ready.place  dispatch.attempt  token.epoch
//                           epoch.cluster  content.*  view.*  guard.*

#include <functional>
#include <memory>
#include <string>

#include "shared/base/ids.h"
#include "shared/objectstore/object_store.h"
#include "shared/verify/kind_checks.h"
#include "shared/verify/report.h"

namespace acl::verify {

struct Progress {
  std::int64_t subjects_done = 0, subjects = 0;  // there may be more at the end than there were at the start
  std::int64_t events = 0;
};

struct VerifyOptions {
  std::string conninfo;                              // URL or key=value
  std::string role = "acl_service";                  // taken after connecting; empty: as logged in
  std::shared_ptr<ObjectStore> objects;              // where large contents lie; null: none is set, and needing one is an error
  KindTable kinds;                                   // what is known of kinds; others' states are checked by their hashes only
  std::function<void(const Progress&)> on_progress;  // after every batch of subjects; may be empty
};

// kNotFound if there is no such subject; kUnavailable, kTimeout.
Result<Report> VerifySubject(const VerifyOptions& options, const SubjectId& subject);
// Every subject, then what crosses tables. Memory: one batch of subjects without their journals, a page of events, and the report.
Result<Report> VerifyAll(const VerifyOptions& options);

}  // namespace acl::verify
