#include <fmt/format.h>

#include <optional>
#include <utility>

#include "shared/base/sha256.h"
#include "shared/postgres/store_calls.h"
#include "shared/verify/pg_checks.h"

namespace acl::verify {
namespace {

using pg::Statement;

constexpr int kPage = 32;  // of at most 256 KiB
constexpr std::int64_t kChunkMost = 256 * 1024;

// Heads and chunks together, by hash; a content without chunks has a row without a number.
const Statement kAllChunks("verify.contents", Statement::Kind::kRead, R"(
SELECT coalesce(h.hash, c.hash), h.size, c.number, c.bytes
FROM (SELECT * FROM content_chunks x WHERE (x.hash, x.number) > ($hash::bytea, $number::int) ORDER BY x.hash, x.number LIMIT $limit::int) c
LEFT JOIN contents h ON h.hash = c.hash ORDER BY c.hash, c.number)");
const Statement kEmpty("verify.contents_without_chunks", Statement::Kind::kRead, R"(
SELECT h.hash FROM contents h WHERE h.object_key IS NULL AND NOT EXISTS (SELECT FROM content_chunks c WHERE c.hash = h.hash) ORDER BY h.hash LIMIT 10000)");

const Statement kObjects("verify.objects", Statement::Kind::kRead, R"(
SELECT hash FROM contents WHERE object_key IS NOT NULL AND hash > $hash::bytea ORDER BY hash LIMIT 1000)");
const Statement kObject("verify.object", Statement::Kind::kRead,
                        "SELECT 1 FROM contents WHERE hash = $hash::bytea AND object_key IS NOT NULL");
const Statement kDangling("verify.content_refs", Statement::Kind::kRead, R"(
SELECT r.hash, r.subject_id FROM content_refs r WHERE NOT EXISTS (SELECT FROM contents c WHERE c.hash = r.hash) ORDER BY r.hash LIMIT 10000)");

// Chunks of kept snapshots are referred to, and what is referred to for a snapshot is in one. What was put before references were written
// (used_at is null) is never collected.
const Statement kSnapshotRefs("verify.snapshot_refs", Statement::Kind::kRead, R"(
SELECT coalesce(c.hash, r.hash), coalesce(c.subject_id, r.subject_id), c.hash IS NULL
FROM (SELECT DISTINCT s.subject_id, chunk_hashes(s.chunks) AS hash FROM snapshot_rows s WHERE s.chunks IS NOT NULL) c
FULL JOIN (SELECT DISTINCT x.subject_id, x.hash, bool_or(x.snapshot) OVER (PARTITION BY x.subject_id, x.hash) AS snapshot
           FROM (SELECT subject_id, hash, snapshot FROM content_refs UNION ALL SELECT subject_id, hash, true FROM segment_refs) x) r
  ON r.subject_id = c.subject_id AND r.hash = c.hash
WHERE c.hash IS NULL AND r.snapshot
   OR r.hash IS NULL AND EXISTS (SELECT FROM contents h WHERE h.hash = c.hash AND h.used_at IS NOT NULL)
ORDER BY 1, 2 LIMIT 10000)");

// One content after another, as their chunks come by.
class ContentWalk {
 public:
  explicit ContentWalk(Report& report) : report_(report) {}

  void Chunk(const Hash256& hash, std::optional<std::int64_t> size, std::int64_t number, const std::string& bytes) {
    if (!hash_ || *hash_ != hash) {
      Finish();
      hash_ = hash, size_ = size, next_ = 0, sum_ = 0;
      report_.Check("content.row", size.has_value(), "contents", ToHex(hash), "a row for its chunks", "none");
    }
    const std::string key = fmt::format("{}/{}", ToHex(hash), number);
    report_.Check("content.chunk", number == next_ && std::int64_t(bytes.size()) <= kChunkMost, "content_chunks", key,
                  fmt::format("number {} of at most {} bytes", next_, kChunkMost), fmt::format("number {} of {}", number, bytes.size()));
    next_ = number + 1;
    sum_ += std::int64_t(bytes.size());
    stream_.Add(bytes);
  }

  void Finish() {
    if (!hash_) return;
    const std::string key = ToHex(*hash_), found = ToHex(stream_.Finish());
    report_.Check("content.hash", found == key, "content_chunks", key, key, found);
    if (size_) report_.Check("content.size", *size_ == sum_, "contents", key, fmt::format("{} bytes", *size_), std::to_string(sum_));
    hash_.reset();
  }

 private:
  Report& report_;
  std::optional<Hash256> hash_;
  std::optional<std::int64_t> size_;
  std::int64_t next_ = 0, sum_ = 0;
  Sha256Stream stream_;
};

// Those in the object store, each read whole.
Status CheckObjects(PgVerifyStore& store, Report& report) {
  Hash256 hash{};
  for (bool more = true; more;) {
    pg::Params params;
    auto rows = store.Run(kObjects, params.Bytes("hash", hash));
    if (!rows) return rows.error();
    more = rows->size() == 1'000;
    for (int i = 0; i < rows->size(); ++i) {
      hash = rows->Hash(i, 0);
      const Status sound = store.CheckContent(hash);
      if (!sound && sound.code() != Code::kCorrupt && sound.code() != Code::kNotFound) return sound;
      if (sound) {
        report.Check("content.object", true, "contents", ToHex(hash), "", "");
      } else {
        store.doubtful.push_back(hash);
      }
    }
  }
  return {};
}

}  // namespace

// Reading them all takes long, and nobody referred to some of them: meanwhile they may have been collected, row and object.
Status CheckDoubtfulObjects(PgVerifyStore& store, Report& report) {
  for (const Hash256& hash : std::exchange(store.doubtful, {})) {
    pg::Params params;
    auto there = store.Run(kObject, params.Bytes("hash", hash));
    if (!there) return there.error();
    if (there->size() == 0) continue;
    const Status sound = store.CheckContent(hash);
    if (!sound && sound.code() != Code::kCorrupt && sound.code() != Code::kNotFound) return sound;
    report.Check("content.object", sound.ok(), "contents", ToHex(hash), "an object with its bytes", sound ? "" : sound.message());
  }
  return {};
}

Status CheckContents(PgVerifyStore& store, Report& report) {
  ContentWalk walk(report);
  Hash256 hash{};
  std::int64_t number = -1;
  for (int got = kPage; got == kPage;) {
    pg::Params params;
    auto rows = store.Run(kAllChunks, params.Bytes("hash", hash).Int32("number", int(number)).Int32("limit", kPage));
    if (!rows) return rows.error();
    got = rows->size();
    for (int i = 0; i < got; ++i) {
      hash = rows->Hash(i, 0), number = rows->Int(i, 2);
      walk.Chunk(hash, rows->IsNull(i, 1) ? std::nullopt : std::optional(rows->Int(i, 1)), number, rows->Bytes(i, 3));
    }
  }
  walk.Finish();
  if (Status objects = CheckObjects(store, report); !objects) return objects;
  auto dangling = store.Run(kDangling);
  if (!dangling) return dangling.error();
  for (int i = 0; i < dangling->size(); ++i) {
    report.Check("content.reference", false, "content_refs", ToHex(dangling->Hash(i, 0)),
                 "the content that " + dangling->Id(i, 1).ToString() + " refers to", "none");
  }
  auto unlike = store.Run(kSnapshotRefs);
  if (!unlike) return unlike.error();
  for (int i = 0; i < unlike->size(); ++i) {
    const std::string key = ToHex(unlike->Hash(i, 0)) + " of " + unlike->Id(i, 1).ToString();
    const bool kept = unlike->Bool(i, 2);
    report.Check("content.snapshot_reference", false, "content_refs", key,
                 kept ? "a kept snapshot with this chunk" : "a reference to the chunk of a kept snapshot", "none");
  }
  auto empty = store.Run(kEmpty);
  if (!empty) return empty.error();
  for (int i = 0; i < empty->size(); ++i) {
    report.Check("content.hash", false, "content_chunks", ToHex(empty->Hash(i, 0)), "chunks", "none");
  }
  return {};
}

}  // namespace acl::verify
