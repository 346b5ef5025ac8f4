// Contents by SHA-256 in chunks: write-once, verified when written and when read. A put of what is there already counts as a use (not more
// often than every ten minutes), and waits for a collector that is about to remove it: so after a put the whole grace time is left, less
// those minutes. Large ones may lie in an object store: pg_object_contents.cc.
#include <algorithm>

#include "shared/base/sha256.h"
#include "shared/postgres/pg_store.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Array;
using pg::Oid;
using pg::Params;
using pg::Statement;

constexpr std::size_t kRowBytes = 256 * 1024;
constexpr std::size_t kStatementBytes = 8 * 1024 * 1024;  // of one statement's parameters

const Statement kPutHead("content.put", Statement::Kind::kWrite,
                         R"(
INSERT INTO contents AS c (hash, size, used_at) VALUES ($hash::bytea, $size::bigint, clock_timestamp())
ON CONFLICT (hash) DO UPDATE SET used_at = clock_timestamp() WHERE c.used_at < clock_timestamp() - interval '10 minutes' RETURNING xmax = 0)",
                         true);
const Statement kPutChunks("content.put_chunks", Statement::Kind::kWrite, R"(
INSERT INTO content_chunks (hash, number, bytes)
SELECT $hash::bytea, c.number, c.bytes FROM unnest($number::int[], $bytes::bytea[]) AS c(number, bytes))",
                           true);
// Small contents, many at a time. In the order of their hashes, so that two writers do not deadlock.
const Statement kPutSmall("content.put_small", Statement::Kind::kWrite, R"(
WITH given AS MATERIALIZED (SELECT DISTINCT ON (hash) hash, bytes FROM unnest($hash::bytea[], $bytes::bytea[]) AS g(hash, bytes) ORDER BY hash),
fresh AS (
  INSERT INTO contents AS c (hash, size, used_at) SELECT hash, length(bytes), clock_timestamp() FROM given
  ON CONFLICT (hash) DO UPDATE SET used_at = clock_timestamp() WHERE c.used_at < clock_timestamp() - interval '10 minutes'
  RETURNING c.hash, xmax = 0 AS fresh)
INSERT INTO content_chunks (hash, number, bytes) SELECT g.hash, 0, g.bytes FROM given g JOIN fresh f ON f.hash = g.hash WHERE f.fresh)",
                          true);
const Statement kGetHead("content.get", Statement::Kind::kRead, "SELECT size, object_key FROM contents WHERE hash = $hash::bytea", true);
const Statement kGetChunks("content.get_chunks", Statement::Kind::kRead,
                           "SELECT bytes FROM content_chunks WHERE hash = $hash::bytea AND number >= $from::int ORDER BY number LIMIT 32",
                           true);

// Those of one row each. A state in chunks is read so: one question instead of two a chunk.
const Statement kGetSmall("content.get_small", Statement::Kind::kRead, R"(
SELECT c.hash, k.bytes FROM unnest($hash::bytea[]) AS h(hash) JOIN contents c ON c.hash = h.hash JOIN content_chunks k ON k.hash = c.hash AND k.number = 0
WHERE c.object_key IS NULL AND c.size = length(k.bytes))",
                          true);
constexpr std::size_t kReadAtOnce = 64;  // 16 MB at most

using Content = std::pair<Hash256, std::string>;

Status PutSmall(pg::Pool& pool, std::span<const Content* const> contents) {
  Array hash(Oid::kBytea), bytes(Oid::kBytea);
  for (const Content* content : contents) hash.Bytes(content->first), bytes.Bytes(content->second);
  Params params;
  auto done = pg::RunOne(pool, kPutSmall, params.List("hash", hash).List("bytes", bytes));
  return done ? Status() : Status(done.error());
}

// The row and all chunks in one transaction: a content is there whole or not at all.
Status PutLarge(pg::Pool& pool, const Content& content) {
  auto taken = pool.Take();
  if (!taken) return taken.error();
  pg::Connection& connection = **taken;
  if (Status begun = connection.Begin(); !begun) return begun;
  Params head;
  auto fresh = connection.Run(kPutHead, head.Bytes("hash", content.first).Int64("size", std::int64_t(content.second.size())));
  if (!fresh) return fresh.error();
  if (fresh->size() == 0 || !fresh->Bool(0, 0)) return connection.Commit();  // there already
  std::string_view rest = content.second;
  int number = 0;
  while (!rest.empty()) {
    Array numbers(Oid::kInt4), bytes(Oid::kBytea);
    for (std::size_t sent = 0; !rest.empty() && sent < kStatementBytes; sent += kRowBytes) {
      numbers.Int32(number++), bytes.Bytes(rest.substr(0, kRowBytes));
      rest.remove_prefix(std::min(kRowBytes, rest.size()));
    }
    Params chunks;
    chunks.Bytes("hash", content.first).List("number", numbers).List("bytes", bytes);
    if (auto put = connection.Run(kPutChunks, chunks); !put) return put.error();
  }
  return connection.Commit();
}

}  // namespace

Status PgStore::PutContents(std::span<const Content> contents) {
  std::vector<const Content*> small;
  std::size_t small_bytes = 0;
  for (const Content& content : contents) {
    if (Sha256(content.second) != content.first) {
      return Error{Code::kInvalid, "content " + ToHex(content.first) + ": the bytes have another hash"};
    }
  }
  for (const Content& content : contents) {
    if (objects_ && std::int64_t(content.second.size()) > object_bytes_) {
      if (Status put = PutObject(content); !put) return put;
      continue;
    }
    if (content.second.size() > kRowBytes) {
      if (Status put = PutLarge(*pool_, content); !put) return put;
      continue;
    }
    small.push_back(&content);
    small_bytes += content.second.size();
    if (small_bytes < kStatementBytes) continue;
    if (Status put = PutSmall(*pool_, small); !put) return put;
    small.clear(), small_bytes = 0;
  }
  return small.empty() ? Status() : PutSmall(*pool_, small);
}

Result<std::string> PgStore::GetContent(const Hash256& hash) {
  Params head_params;
  auto head = pg::RunOne(*pool_, kGetHead, head_params.Bytes("hash", hash));
  if (!head) return head.error();
  if (head->size() == 0) return Error{Code::kNotFound, "no content " + ToHex(hash)};
  if (!head->IsNull(0, 1)) return GetObject(hash, head->Text(0, 1), head->Int(0, 0));
  std::string bytes;
  for (int from = 0, got = 32; got == 32; from += got) {
    Params params;
    auto rows = pg::RunOne(*pool_, kGetChunks, params.Bytes("hash", hash).Int32("from", from));
    if (!rows) return rows.error();
    got = rows->size();
    auto decoded = pg::Decoded<bool>("content.get_chunks", [&] {
      for (int i = 0; i < got; ++i) bytes += rows->Bytes(i, 0);
      return true;
    });
    if (!decoded) return decoded.error();
  }
  if (Sha256(bytes) != hash)
    return Error{Code::kCorrupt, "content " + ToHex(hash) + " does not have its hash any more: the stored chunks were damaged"};
  return bytes;
}

Result<std::map<Hash256, std::string>> PgStore::GetContents(std::span<const Hash256> hashes) {
  std::map<Hash256, std::string> found;
  for (; !hashes.empty(); hashes = hashes.subspan(std::min(kReadAtOnce, hashes.size()))) {
    Array wanted(Oid::kBytea);
    for (const Hash256& hash : hashes.first(std::min(kReadAtOnce, hashes.size()))) wanted.Bytes(hash);
    Params params;
    auto rows = pg::RunOne(*pool_, kGetSmall, params.List("hash", wanted));
    if (!rows) return rows.error();
    auto decoded = pg::Decoded<bool>("content.get_small", [&] {
      for (int i = 0; i < rows->size(); ++i) {
        const Hash256 hash = rows->Hash(i, 0);
        std::string bytes = rows->Bytes(i, 1);
        if (Sha256(bytes) == hash) found.emplace(hash, std::move(bytes));
      }
      return true;
    });
    if (!decoded) return decoded.error();
  }
  return found;
}

}  // namespace acl
