#pragma once
// KernelStore on PostgreSQL (docs/architecture.md#protocols). Every protocol is one file: pg_session_store, pg_create_store,
// pg_claim_store, pg_commit_store, pg_inbox_store, pg_upkeep_store, pg_content_store. All calls block and may come from any thread;
// commits and the session have connections of their own, so that a slow query never stands in front of them.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "shared/kernel/store.h"
#include "shared/objectstore/object_store.h"

namespace acl {

struct PgStoreOptions {
  std::string conninfo;              // URL or key=value
  std::string role = "acl_service";  // taken after connecting; empty: as logged in
  std::string application_name = "acl";
  int connections = 4;  // for everything but commits
  // And one more for the session (open, heartbeat, close): what keeps the leases never waits behind bulk contents.
  bool check_database = false;  // the session's connection is refused while the schema is not the binary's (migrate.h, CheckDatabase)
  int commit_connections = 2;   // two overlap their flushes; more lose (performance.md 3.1)
  milliseconds wait_for_connection{5'000};
  milliseconds statement_timeout{5'000};
  milliseconds lock_timeout{1'000};  // below a quarter of the session's time to live
  // Where contents larger than `object_bytes` lie; without a store all of them lie in chunks in PostgreSQL. Payloads larger than that, of
  // new subjects and of direct commands, become contents too (a worker stores its own before it commits).
  std::shared_ptr<ObjectStore> objects;
  std::string object_prefix = "acl";  // keys: PREFIX/SYSTEM/..., SYSTEM is the database's own identifier
  std::int64_t object_bytes = 256 * 1024;
  std::map<std::string, std::string> override_sql;  // tests only: statement name -> text
};

namespace pg {
class Pool;
class Connection;
struct SealedItem;
}  // namespace pg

class PgStore final : public KernelStore {
 public:
  explicit PgStore(PgStoreOptions options);
  ~PgStore() override;

  Result<SessionGrant> OpenSession(const SessionRequest& request) override;
  Result<HeartbeatAnswer> Heartbeat(const WorkerSessionId& session, milliseconds ttl) override;
  Status CloseSession(const WorkerSessionId& session) override;

  Result<std::vector<CreateOutcome>> Create(std::span<const CreateItem> items) override;
  Result<ClaimAnswer> Claim(const ClaimRequest& request) override;
  Status ReadClaimed(std::vector<Claimed>& granted) override;
  Result<std::vector<Claimed>> ReadGrants(const WorkerSessionId& session, std::span<const SubjectId> subjects) override;
  Result<DueAnswer> DueReady(std::span<const DueLook> looks, int max) override;
  Result<std::vector<CommitOutcome>> Commit(std::span<const CommitItem> items) override;
  Result<std::vector<CommitOutcome>> ReadBack(std::span<const CommitItem> items) override;
  Result<InboxView> ReadInbox(const SubjectId& subject, Token token) override;
  Result<PostAnswer> Post(const InboxPost& post) override;
  Result<DeliverAnswer> DeliverPosts(int max) override;
  Result<std::vector<AskedSubject>> AskedSubjects(int max) override;
  Status ForgetAsked(std::span<const std::int64_t> outbox_ids) override;
  Result<CommitOutcome> Command(const CommandRequest& request, const CommandDecider& decide) override;

  Result<PostAnswer> FinishDispatch(const DispatchReport& report) override;
  Result<ReapedDispatches> ReapDispatches(const std::optional<SubjectId>& subject, int max) override;
  Result<std::vector<HeldDispatch>> DispatchesOf(const WorkerSessionId& session, milliseconds older_than) override;
  Result<ReapAnswer> Reap(int max_leases) override;
  Result<FireAnswer> FireTimers(int max) override;
  Result<std::vector<std::pair<SubjectId, Token>>> HeldBy(const WorkerSessionId& session, milliseconds older_than) override;
  Status ReleaseLease(const SubjectId& subject, const WorkerSessionId& session, Token token) override;
  Status Quarantine(const SubjectId& subject, const WorkerSessionId& session, Token token, const std::string& reason,
                    const std::string& detail) override;
  Status ReleaseQuarantine(const SubjectId& subject, const std::string& by) override;

  Status PutContents(std::span<const std::pair<Hash256, std::string>> contents) override;
  Result<std::string> GetContent(const Hash256& hash) override;
  Result<std::map<Hash256, std::string>> GetContents(std::span<const Hash256> hashes) override;
  Result<CollectAnswer> CollectContents(milliseconds grace, const ContentMark& from, int max) override;
  Result<RetainAnswer> Retain(milliseconds sessions, milliseconds request_keys, int max) override;
  Result<DropAnswer> DropSegments(milliseconds keep, int max) override;
  Result<std::vector<std::optional<LeaderLease>>> HoldLeaderLeases(std::span<const std::string> names, const WorkerSessionId& session,
                                                                   milliseconds ttl) override;

  // For readers of the same database (PgQueries).
  pg::Pool& pool() { return *pool_; }

 private:
  struct SealCache;  // the token and clock that new subjects are sealed with
  using Content = std::pair<Hash256, std::string>;

  Result<std::vector<CreateOutcome>> CreateAtOnce(std::span<const pg::SealedItem> items, Token token, WallTime now);
  Result<std::vector<CreateOutcome>> CreateAny(std::span<const pg::SealedItem> items, Token token, WallTime now);
  Result<std::span<const CreateItem>> Offload(std::span<const CreateItem> items, std::vector<CreateItem>& copies);
  // pg_command_store.cc
  Result<std::optional<CommitOutcome>> CommandOnce(const CommandRequest& request, const CommandDecider& decide,
                                                   std::optional<CommandItem>& stored);
  // pg_object_contents.cc
  Status PutObject(const Content& content);
  Result<std::string> GetObject(const Hash256& hash, const std::string& key, std::int64_t size);
  Result<std::string> ObjectFolder();
  Status CollectObjects(milliseconds grace, int max, CollectAnswer& answer);
  Status SweepObjects(milliseconds grace, CollectAnswer& answer);

  std::unique_ptr<pg::Pool> pool_;
  std::unique_ptr<pg::Pool> commit_pool_;
  std::unique_ptr<pg::Pool> session_pool_;
  std::unique_ptr<SealCache> seal_;
  const std::shared_ptr<ObjectStore> objects_;
  const std::string object_prefix_;
  const std::int64_t object_bytes_;
  std::mutex folder_mutex_;
  std::string folder_;  // what the keys of this database begin with; empty: not asked yet
};

}  // namespace acl
