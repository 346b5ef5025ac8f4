#include "shared/journal/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "shared/base/sha256.h"
#include "tests/unit/journal/samples.h"

namespace acl {
namespace {

using ::testing::HasSubstr;
using Chunks = std::map<Hash256, std::string>;

ChunkReader ReaderOf(const Chunks& chunks) {
  return [&chunks](const Hash256& hash) -> Result<std::string> {
    auto it = chunks.find(hash);
    if (it == chunks.end()) return {Code::kNotFound, "no such content"};
    return it->second;
  };
}

Chunks ChunksOf(const EncodedSnapshot& encoded) { return {encoded.contents.begin(), encoded.contents.end()}; }

Document Large(int entries) {
  Document document;
  for (int i = 0; i < entries; ++i)
    document.Set("key" + std::to_string(i), Json{{"n", i}, {"real", i / 8.0 + 1e20}, {"text", std::string(50, 'x')}});
  return document;
}

TEST(Snapshot, SmallIsInline) {
  Document document = Large(20);
  auto encoded = EncodeSnapshot(document, 7, Sha256("chain"));
  ASSERT_TRUE(encoded.snapshot.inline_state);
  EXPECT_TRUE(encoded.snapshot.chunks.empty() && encoded.contents.empty());
  EXPECT_EQ(*encoded.snapshot.inline_state, DumpJson(document.ToJson()));
  auto decoded = DecodeSnapshot(encoded.snapshot, ReaderOf({}));
  ASSERT_TRUE(decoded.ok()) << decoded.message();
  EXPECT_EQ(DumpJson(decoded->ToJson()), DumpJson(document.ToJson()));
}

TEST(Snapshot, EmptyIsInline) {
  auto encoded = EncodeSnapshot(Document(), 1, Hash256{});
  EXPECT_EQ(*encoded.snapshot.inline_state, "{}");
  EXPECT_TRUE(DecodeSnapshot(encoded.snapshot, ReaderOf({})).ok());
}

TEST(Snapshot, LargeIsChunksAndOneChangedEntryWritesOneChunk) {
  Document document = Large(2000);
  auto first = EncodeSnapshot(document, 7, Hash256{});
  EXPECT_FALSE(first.snapshot.inline_state);
  EXPECT_GT(first.snapshot.chunks.size(), 10u);
  for (const auto& [hash, bytes] : first.contents) {
    EXPECT_EQ(hash, Sha256(bytes));
    EXPECT_LE(bytes.size(), kChunkBytes + 1);
  }
  Chunks chunks = ChunksOf(first);
  auto decoded = DecodeSnapshot(first.snapshot, ReaderOf(chunks));
  ASSERT_TRUE(decoded.ok()) << decoded.message();
  EXPECT_EQ(DumpJson(decoded->ToJson()), DumpJson(document.ToJson()));

  document.Set("key3", "changed");
  auto second = EncodeSnapshot(document, 8, Hash256{}, &first.snapshot);
  EXPECT_EQ(second.contents.size(), 1u);
  EXPECT_EQ(second.snapshot.chunks.size(), first.snapshot.chunks.size());
  chunks.insert(second.contents.begin(), second.contents.end());
  EXPECT_TRUE(DecodeSnapshot(second.snapshot, ReaderOf(chunks)).ok());
}

TEST(Snapshot, OneHugeEntryIsOneChunk) {
  Document document;
  document.Set("huge", std::string(100'000, 'x'));
  document.Set("small", 1);
  auto encoded = EncodeSnapshot(document, 1, Hash256{});
  EXPECT_EQ(encoded.snapshot.chunks.size(), 2u);
  EXPECT_EQ(DecodeSnapshot(encoded.snapshot, ReaderOf(ChunksOf(encoded)))->Root(), document.Root());
}

TEST(Snapshot, AnyFlippedBitIsFound) {
  auto small = EncodeSnapshot(Large(5), 7, Hash256{}).snapshot;
  for (std::size_t i = 0; i < small.inline_state->size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      Snapshot bad = small;
      (*bad.inline_state)[i] = char((*bad.inline_state)[i] ^ 1 << bit);
      auto decoded = DecodeSnapshot(bad, ReaderOf({}));
      ASSERT_FALSE(decoded.ok()) << *bad.inline_state;
      ASSERT_EQ(decoded.code(), Code::kCorrupt);
    }
  }
  auto large = EncodeSnapshot(Large(300), 7, Hash256{});
  const Chunks good = ChunksOf(large);
  for (const auto& [hash, bytes] : good) {
    for (std::size_t i = 0; i < bytes.size(); i += 97) {
      Chunks bad = good;
      bad[hash][i] = char(bad[hash][i] ^ 1 << i % 8);
      auto decoded = DecodeSnapshot(large.snapshot, ReaderOf(bad));
      ASSERT_FALSE(decoded.ok());
      EXPECT_THAT(decoded.message(), HasSubstr("its bytes hash to"));
    }
  }
  for (std::size_t i = 0; i < 32; ++i) {
    Snapshot root = small, chunk = large.snapshot;
    root.state_root[i] ^= 1;
    chunk.chunks[i % chunk.chunks.size()][i] ^= 0x80;
    EXPECT_EQ(DecodeSnapshot(root, ReaderOf({})).code(), Code::kCorrupt);
    EXPECT_EQ(DecodeSnapshot(chunk, ReaderOf(good)).code(), Code::kCorrupt);
  }
}

TEST(Snapshot, RefusesWhatIsNotWholeOrNewer) {
  auto large = EncodeSnapshot(Large(300), 7, Hash256{});
  const Chunks chunks = ChunksOf(large);
  auto code = [&](Snapshot snapshot) { return DecodeSnapshot(snapshot, ReaderOf(chunks)).code(); };
  Snapshot missing = large.snapshot, twice = large.snapshot, none = large.snapshot, both = large.snapshot, newer = large.snapshot;
  missing.chunks.pop_back();
  twice.chunks.push_back(twice.chunks[0]);
  none.chunks.clear();
  both.inline_state = "{}";
  newer.schema_version = kSnapshotSchemaVersion + 1;
  for (const Snapshot& bad : {missing, twice, none, both, newer}) EXPECT_EQ(code(bad), Code::kCorrupt);
  EXPECT_EQ(DecodeSnapshot(large.snapshot, ReaderOf({})).code(), Code::kCorrupt) << "a lost chunk is corruption";
  ChunkReader down = [](const Hash256&) -> Result<std::string> { return {Code::kUnavailable, "database gone"}; };
  EXPECT_EQ(DecodeSnapshot(large.snapshot, down).code(), Code::kUnavailable) << "a lost connection is not";
}

TEST(Snapshot, DueByTheRule) {
  EXPECT_FALSE(SnapshotDue(31, 1'000'000, 1));
  EXPECT_TRUE(SnapshotDue(32, 1'000, 1'000));
  EXPECT_FALSE(SnapshotDue(32, 999, 1'000));
  EXPECT_FALSE(SnapshotDue(511, 999, 1'000));
  EXPECT_TRUE(SnapshotDue(512, 0, 1'000'000));
}

}  // namespace
}  // namespace acl
