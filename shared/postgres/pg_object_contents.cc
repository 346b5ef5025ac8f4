// Large contents in an object store (docs/decisions.md, "Object store"). The order of things, so that a referenced content is never
// lost and an orphan never stays:
//
//   put       mark (a new key that holds the hash) -> the object, put-if-absent -> finish: the mark becomes the contents row
//   collect   no reference, long not used: the row goes and its key is condemned -> the object is deleted -> the mark goes
//             a mark that is older than the grace is condemned too: finish refuses it from then on
//   sweep     an object of ours with neither row nor mark (a put that was frozen beyond all that, and landed late) is deleted
//
// Keys are never used twice, so a delete that comes late, from whomever, meets nothing that anybody refers to.
#include <fmt/format.h>

#include "shared/base/random.h"
#include "shared/base/sha256.h"
#include "shared/postgres/pg_store.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Array;
using pg::Oid;
using pg::Params;
using pg::Statement;

constexpr auto kWrite = Statement::Kind::kWrite;

// Nothing if the database was restored or copied and has no new epoch yet: then these are not its objects to write or delete.
const Statement kFolder("object.folder", Statement::Kind::kRead, R"(
SELECT f.system_identifier::text FROM fleet_epoch f JOIN pg_control_system() c ON c.system_identifier = f.system_identifier)");
const Statement kUse("object.use", kWrite, R"(
WITH there AS MATERIALIZED (SELECT c.hash FROM contents c WHERE c.hash = $hash::bytea FOR NO KEY UPDATE),
used AS (UPDATE contents c SET used_at = clock_timestamp() FROM there t WHERE c.hash = t.hash AND c.used_at < clock_timestamp() - interval '10 minutes')
SELECT count(*) FROM there)",
                     true);
const Statement kMark("object.mark", kWrite, "INSERT INTO object_marks (object_key, hash) VALUES ($key::text, $hash::bytea)", true);
const Statement kFinishObject("object.finish", kWrite, "SELECT finish_object($key::text, $hash::bytea, $size::bigint)", true);
const Statement kCollect("content.collect", kWrite, R"(
SELECT examined, removed, last_at, last_hash FROM collect_contents($grace_ms::bigint, $at::timestamptz, $hash::bytea, $max::int))");
const Statement kCondemned("object.condemned", kWrite, "SELECT k FROM condemned_objects($grace_ms::bigint, $max::int) k");
const Statement kForget("object.forget", kWrite, "DELETE FROM object_marks WHERE object_key = ANY ($keys::text[]) AND condemned");
// Of these keys those that nobody knows.
const Statement kUnknown("object.unknown", Statement::Kind::kRead, R"(
SELECT k.key FROM unnest($keys::text[], $hashes::bytea[]) AS k(key, hash)
WHERE NOT EXISTS (SELECT FROM contents c WHERE c.hash = k.hash AND c.object_key = k.key)
  AND NOT EXISTS (SELECT FROM object_marks m WHERE m.object_key = k.key))");

std::string NewKey(const std::string& folder, const Hash256& hash) {
  SystemRandom random;
  const std::string hex = ToHex(hash);
  return fmt::format("{}{}/{}-{:016x}", folder, hex.substr(0, 2), hex, random.Next());
}

// The hash that a key of ours holds.
std::optional<Hash256> HashOf(const std::string& key) {
  const auto slash = key.rfind('/'), dash = key.rfind('-');
  if (slash == std::string::npos || dash == std::string::npos || dash < slash) return std::nullopt;
  return HashFromHex(std::string_view(key).substr(slash + 1, dash - slash - 1));
}

}  // namespace

// A database that was restored elsewhere writes under another folder, and deletes nothing under this one.
Result<std::string> PgStore::ObjectFolder() {
  {
    std::lock_guard lock(folder_mutex_);
    if (!folder_.empty()) return folder_;
  }
  auto rows = pg::RunOne(*pool_, kFolder, {});
  if (!rows) return rows.error();
  if (rows->size() == 0) return Error{Code::kConflict, "the database was restored or copied; run: airun db new-epoch"};
  std::lock_guard lock(folder_mutex_);
  folder_ = fmt::format("{}{}{}/", object_prefix_, object_prefix_.empty() ? "" : "/", rows->Text(0, 0));
  return folder_;
}

Status PgStore::PutObject(const Content& content) {
  const auto& [hash, bytes] = content;
  Params use;
  auto there = pg::RunOne(*pool_, kUse, use.Bytes("hash", hash));
  if (!there) return there.error();
  if (there->Int(0, 0) > 0) return {};
  auto folder = ObjectFolder();
  if (!folder) return folder.error();
  const std::string key = NewKey(*folder, hash);
  Params mark;
  if (auto marked = pg::RunOne(*pool_, kMark, mark.Text("key", key).Bytes("hash", hash)); !marked) return marked.error();
  if (auto put = objects_->PutIfAbsent(key, bytes); !put) return put.error();  // the mark leads the collector to what may be there
  Params finish;
  finish.Text("key", key).Bytes("hash", hash).Int64("size", std::int64_t(bytes.size()));
  auto finished = pg::RunOne(*pool_, kFinishObject, finish);
  if (!finished) return finished.error();
  if (finished->Bool(0, 0)) return {};
  return Error{Code::kUnavailable, fmt::format("content {}: its put took longer than the collector's grace; put it again", ToHex(hash))};
}

Result<std::string> PgStore::GetObject(const Hash256& hash, const std::string& key, std::int64_t size) {
  if (!objects_) {
    return Error{Code::kUnavailable, fmt::format("content {} lies in an object store and this process has none: set s3_endpoint "
                                                 "(ACL_S3_ENDPOINT) and what belongs to it",
                                                 ToHex(hash))};
  }
  for (int again = 0;; ++again) {
    auto bytes = objects_->Get(key, size);
    if (!bytes && bytes.code() == Code::kNotFound) {
      return Error{Code::kCorrupt, fmt::format("content {}: its object {} is gone from {}", ToHex(hash), key, objects_->Name())};
    }
    if (!bytes && bytes.code() != Code::kCorrupt) return bytes.error();
    if (bytes && Sha256(*bytes) == hash) return bytes;
    if (again > 0) {  // twice the same answer: it is not the way that spoils it
      return Error{Code::kCorrupt, fmt::format("content {}: the object {} in {} has other bytes than were put{}", ToHex(hash), key,
                                               objects_->Name(), bytes ? "" : " (" + bytes.message() + ")")};
    }
  }
}

Result<CollectAnswer> PgStore::CollectContents(milliseconds grace, const ContentMark& from, int max) {
  CollectAnswer answer;
  answer.next = from;
  if (!from.listing) {
    Params params;
    params.Int64("grace_ms", grace.count()).Time("at", from.at).Bytes("hash", from.hash).Int32("max", max);
    auto rows = pg::RunOne(*pool_, kCollect, params);
    if (!rows) return rows.error();
    answer.contents = rows->Int(0, 1);
    if (!rows->IsNull(0, 2)) answer.next.at = rows->Time(0, 2), answer.next.hash = rows->Hash(0, 3);
    answer.more = rows->Int(0, 0) >= max;
    answer.next.listing = !answer.more && objects_ != nullptr;
  }
  if (!objects_) return answer;
  if (Status collected = CollectObjects(grace, max, answer); !collected) return collected.error();
  if (!from.listing) {
    answer.more = true;
    return answer;
  }
  if (Status swept = SweepObjects(grace, answer); !swept) return swept.error();
  return answer;
}

// Condemned objects of this database's folder; those of a database it was copied from are left to that one.
Status PgStore::CollectObjects(milliseconds grace, int max, CollectAnswer& answer) {
  auto folder = ObjectFolder();
  if (!folder) return folder.error();
  Params params;
  auto rows = pg::RunOne(*pool_, kCondemned, params.Int64("grace_ms", grace.count()).Int32("max", max));
  if (!rows) return rows.error();
  Array done(Oid::kText);
  Status failed;
  for (int i = 0; i < rows->size() && failed; ++i) {
    const std::string key = rows->Text(i, 0);
    if (key.starts_with(*folder)) failed = objects_->Delete(key);
    if (!failed) break;
    done.Text(key);
    ++answer.objects;
  }
  Params forget;
  if (auto forgotten = pg::RunOne(*pool_, kForget, forget.List("keys", done)); !forgotten) return forgotten.error();
  return failed;
}

Status PgStore::SweepObjects(milliseconds grace, CollectAnswer& answer) {
  auto folder = ObjectFolder();
  if (!folder) return folder.error();
  auto page = objects_->List(*folder, answer.next.listed);
  if (!page) return page.error();
  const WallTime until = SystemClock().Wall() - grace;  // only a courtesy: what nobody knows is nobody's
  Array keys(Oid::kText), hashes(Oid::kBytea);
  for (const ObjectInfo& object : page->objects) {
    if (object.modified >= until) continue;
    if (auto hash = HashOf(object.key)) keys.Text(object.key), hashes.Bytes(*hash);
  }
  Params params;
  auto unknown = pg::RunOne(*pool_, kUnknown, params.List("keys", keys).List("hashes", hashes));
  if (!unknown) return unknown.error();
  for (int i = 0; i < unknown->size(); ++i) {
    if (Status gone = objects_->Delete(unknown->Text(i, 0)); !gone) return gone;
    ++answer.objects;
  }
  answer.next.listed = page->next;
  answer.more = !page->next.empty();
  return {};
}

}  // namespace acl
