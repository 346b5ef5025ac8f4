// Properties over random states, patches and journals.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "shared/base/sha256.h"
#include "shared/journal/snapshot.h"
#include "tests/unit/journal/samples.h"

namespace acl {
namespace {

Json RandomValue(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 9 : 6)) {
    case 0: return nullptr;
    case 1: return *rc::gen::arbitrary<bool>();
    case 2: return *rc::gen::arbitrary<std::int64_t>();
    case 3: return *rc::gen::arbitrary<std::uint64_t>();
    case 4: return double(*rc::gen::arbitrary<std::int32_t>()) * 1e15 / 7;
    case 5: return ToHex(*rc::gen::arbitrary<std::string>()) + "ü\n\"";
    case 6: {
      Json array = Json::array();
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) array.push_back(RandomValue(depth - 1));
      return array;
    }
    default: {
      Json object = Json::object();
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) object["m" + std::to_string(*rc::gen::inRange(0, 9))] = RandomValue(depth - 1);
      return object;
    }
  }
}

std::string RandomKey() { return "key" + std::to_string(*rc::gen::inRange(0, 12)); }

// Any operation on any path; many of them do not apply, which is half of the point.
Json RandomOperation() {
  std::vector<std::string> path{RandomKey()}, from{RandomKey()};
  for (std::vector<std::string>* one : {&path, &from}) {
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) one->push_back(*rc::gen::element<std::string>("m0", "m1", "0", "1", "-"));
  }
  switch (*rc::gen::inRange(0, 6)) {
    case 0: return PatchRemove(path);
    case 1: return PatchReplace(path, RandomValue(2));
    case 2: return PatchCopy(from, path);
    case 3: {
      Json op = PatchCopy(from, path);
      op["op"] = "move";
      return op;
    }
    default: return PatchAdd(path, RandomValue(3));
  }
}

// A delta that applies to the state: the operations that do, one after another.
Json ApplicableDelta(const Document& state, int operations) {
  Json delta = Json::array();
  Document trial = state;
  for (int i = 0; i < operations; ++i) {
    Json op = RandomOperation();
    if (trial.Apply(Json::array({op})).ok()) delta.push_back(std::move(op));
  }
  return delta;
}

RC_GTEST_PROP(Properties, RootDoesNotDependOnTheOrderOfInsertionOrOnWhatWasRemoved, ()) {
  std::map<std::string, Json> entries;
  for (int i = *rc::gen::inRange(0, 30); i > 0; --i) entries[ToHex(*rc::gen::arbitrary<std::string>())] = RandomValue(2);
  Document forward, backward;
  for (const auto& [key, value] : entries) forward.Set(key, value);
  for (int i = 0; i < 5; ++i) backward.Set("passing" + std::to_string(i), i);
  for (auto it = entries.rbegin(); it != entries.rend(); ++it) backward.Set(it->first, it->second);
  for (int i = 0; i < 5; ++i) backward.Remove("passing" + std::to_string(i));
  RC_ASSERT(forward.Root() == backward.Root());
  RC_ASSERT(forward.size() == backward.size());
  RC_ASSERT(forward.stored_bytes() == backward.stored_bytes());
}

RC_GTEST_PROP(Properties, ApplyOnADocumentIsApplyPatchOnItsJson, ()) {
  Document document;
  for (int round = 0; round < 8; ++round) {
    Json patch = Json::array();
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) patch.push_back(RandomOperation());
    const Json before = document.ToJson();
    const Hash256 root = document.Root();
    auto whole = ApplyPatch(before, patch);
    Status status = document.Apply(patch);
    RC_ASSERT(status.ok() == whole.ok());
    if (status.ok()) {
      auto anew = Document::FromJson(*whole);
      RC_ASSERT(anew.ok());
      RC_ASSERT(document.Root() == anew->Root());
      RC_ASSERT(DumpJson(document.ToJson()) == DumpJson(anew->ToJson()));
    } else {
      RC_ASSERT(document.Root() == root);
      RC_ASSERT(DumpJson(document.ToJson()) == DumpJson(before));
    }
  }
}

RC_GTEST_PROP(Properties, TextReadsBackAsTheSameValueAndText, ()) {
  const Json value = RandomValue(4);
  auto again = ParseJson(DumpJson(value));
  RC_ASSERT(again.ok());
  RC_ASSERT(DumpJson(*again) == DumpJson(value));
  RC_ASSERT(again->type() == value.type() || value.is_number());
}

RC_GTEST_PROP(Properties, SnapshotsRoundTrip, ()) {
  Document document;
  const int entries = *rc::gen::inRange(0, 120);
  for (int i = 0; i < entries; ++i)
    document.Set("k" + std::to_string(i), Json{{"v", RandomValue(3)}, {"pad", std::string(std::size_t(*rc::gen::inRange(0, 900)), 'p')}});
  auto encoded = EncodeSnapshot(document, 1, Sha256("x"));
  std::map<Hash256, std::string> chunks(encoded.contents.begin(), encoded.contents.end());
  auto decoded = DecodeSnapshot(encoded.snapshot, [&](const Hash256& hash) -> Result<std::string> { return chunks.at(hash); });
  RC_ASSERT(decoded.ok());
  RC_ASSERT(decoded->Root() == document.Root());
  RC_ASSERT(decoded->stored_bytes() == document.stored_bytes());
  RC_ASSERT(DumpJson(decoded->ToJson()) == DumpJson(document.ToJson()));
}

RC_GTEST_PROP(Properties, RestoreIsTheSameFromAnySnapshotPoint, ()) {
  std::vector<Event> journal;
  Document state;
  std::vector<EncodedSnapshot> snapshots{{}};
  const int events = *rc::gen::inRange(1, 15);
  for (int i = 0; i < events; ++i) {
    if (i > 0 && *rc::gen::inRange(0, 3) == 0) {  // a journal begins: its event changes nothing
      samples::AppendRoll(journal, state);
      snapshots.push_back(EncodeSnapshot(state, journal.back().seq, journal.back().chain));
    }
    samples::Append(journal, state, ApplicableDelta(state, *rc::gen::inRange(0, 4)));
    snapshots.push_back(EncodeSnapshot(state, journal.back().seq, journal.back().chain));
  }
  for (std::size_t from = 0; from < snapshots.size(); ++from) {
    std::map<Hash256, std::string> chunks(snapshots[from].contents.begin(), snapshots[from].contents.end());
    auto snapshot = from == 0 ? std::nullopt : std::optional(snapshots[from].snapshot);
    auto restored = Restore(samples::Subject(), snapshot, {journal.begin() + std::ptrdiff_t(from), journal.end()},
                            [&](const Hash256& hash) -> Result<std::string> { return chunks.at(hash); });
    RC_ASSERT(restored.ok());
    RC_ASSERT(MatchesHead(*restored, journal.back().seq, journal.back().chain, state.Root()).ok());
  }
}

RC_GTEST_PROP(Properties, OneFlippedBitAnywhereInAJournalIsFound, ()) {
  auto journal = samples::SealedEvents(6);
  auto good = Restore(samples::Subject(), std::nullopt, journal, {});
  RC_ASSERT(good.ok());
  Event& event = journal[*rc::gen::inRange<std::size_t>(0, journal.size())];
  std::string* fields[] = {&event.type, &event.producer_version, &*event.payload};
  std::string& text = *fields[*rc::gen::inRange(0, 3)];
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = char(text[at] ^ 1 << *rc::gen::inRange(0, 8));
  auto restored = Restore(samples::Subject(), std::nullopt, journal, {});
  RC_ASSERT(!restored.ok());
  RC_ASSERT(restored.code() == Code::kCorrupt);
}

}  // namespace
}  // namespace acl
