#pragma once
// Reads what `verify` checks, each batch of subjects in one repeatable-read, read-only transaction on a connection of its own: what a
// running fleet commits meanwhile is either wholly in it or not at all. Reads only; memory is bounded by the batch and by a page of
// events, not by the database. One thread at a time.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/objectstore/object_store.h"
#include "shared/postgres/connection.h"
#include "shared/verify/subject_check.h"

namespace acl::verify {

class PgVerifyStore {
 public:
  // kUnavailable if the database cannot be reached.
  // `objects`: where large contents lie; may be null.
  static Result<PgVerifyStore> Open(const std::string& conninfo, const std::string& role, std::shared_ptr<ObjectStore> objects);

  // Runs `work` inside one such transaction.
  Status InSnapshot(const std::function<Status()>& work);

  // -- inside a snapshot
  // The next subjects after this one by id, as many as have few enough events together; empty: there are no more.
  Result<std::vector<SubjectId>> NextBatch(const std::optional<SubjectId>& after);
  Result<bool> Exists(const SubjectId& subject);
  // Everything but the events of the subjects from `first` to `last`, by id.
  Result<std::vector<SubjectRows>> ReadRows(const SubjectId& first, const SubjectId& last);
  // The journals of the same range, event by event, by subject and seq. Stops at the first error of `each`.
  Status ReadEvents(const SubjectId& first, const SubjectId& last, const std::function<void(const Event&)>& each);
  // A content by its hash, verified: kNotFound, kCorrupt. For snapshots' chunks: it is held in memory.
  Result<std::string> ReadContent(const Hash256& hash);
  // The same of any size, piece by piece; or only whether it is there.
  Status CheckContent(const Hash256& hash);
  Status HasContent(const Hash256& hash);
  // Rows of a statement of this module (pg_table_checks.cc and the like).
  Result<pg::Rows> Run(const pg::Statement& statement, const pg::Params& params = {}) { return connection_->Run(statement, params); }

  Result<std::int64_t> CountSubjects();

  std::vector<Hash256> doubtful;  // contents to be looked at again in a later snapshot

 private:
  PgVerifyStore(std::unique_ptr<pg::Connection> connection, std::shared_ptr<ObjectStore> objects)
      : connection_(std::move(connection)), objects_(std::move(objects)) {}
  Result<std::int64_t> ReadChunks(const Hash256& hash, const std::function<void(std::string_view)>& each);
  Status ReadSide(const SubjectId& first, const SubjectId& last, std::vector<SubjectRows>& all);

  std::unique_ptr<pg::Connection> connection_;
  std::shared_ptr<ObjectStore> objects_;
};

}  // namespace acl::verify
