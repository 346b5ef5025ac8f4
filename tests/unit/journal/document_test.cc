#include "shared/journal/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"
#include "shared/journal/json_patch.h"
#include "shared/journal/trie.h"

namespace acl {
namespace {

using ::testing::HasSubstr;

Document Of(std::string_view text) {
  auto document = Document::FromJson(ParseJson(text).value());
  EXPECT_TRUE(document.ok());
  return *document;
}

// The definition of the root, told in another way: sort the leaves by path, cut at every bit.
Hash256 RootByDefinition(const std::vector<std::pair<Hash256, Hash256>>& leaves, int depth = 0) {
  if (leaves.empty()) return Hash256{};
  if (leaves.size() == 1) return leaves[0].second;
  std::vector<std::pair<Hash256, Hash256>> sides[2];
  for (const auto& leaf : leaves) sides[leaf.first[size_t(depth / 8)] >> (7 - depth % 8) & 1].push_back(leaf);
  return Sha256(
      {std::string_view("\x01", 1), AsBytes(RootByDefinition(sides[0], depth + 1)), AsBytes(RootByDefinition(sides[1], depth + 1))});
}

Hash256 RootByDefinition(const Json& object) {
  std::vector<std::pair<Hash256, Hash256>> leaves;
  for (auto it = object.begin(); it != object.end(); ++it) {
    Hash256 path = Sha256(it.key());
    leaves.emplace_back(path, Sha256({std::string_view("\x00", 1), AsBytes(path), AsBytes(CanonicalHash(it.value()))}));
  }
  return RootByDefinition(leaves);
}

TEST(Document, EmptyRootIsZeros) {
  Document document;
  EXPECT_EQ(document.Root(), Hash256{});
  EXPECT_EQ(document.size(), 0u);
  EXPECT_EQ(document.stored_bytes(), 0u);
  EXPECT_EQ(DumpJson(document.ToJson()), "{}");
  document.Remove("nothing");
  EXPECT_EQ(document.Root(), Hash256{});
}

TEST(Document, RootIsAsDefinedWhileItGrowsAndShrinks) {
  Document document;
  Json model = Json::object();
  for (int i = 0; i < 300; ++i) {
    std::string key = "k" + std::to_string(i * 7 % 300);
    document.Set(key, Json{{"n", i}});
    model[key] = Json{{"n", i}};
    ASSERT_EQ(document.Root(), RootByDefinition(model)) << i;
  }
  EXPECT_EQ(document.size(), 300u);
  for (int i = 0; i < 300; ++i) {
    std::string key = "k" + std::to_string(i);
    document.Remove(key);
    model.erase(key);
    ASSERT_EQ(document.Root(), RootByDefinition(model)) << i;
  }
  EXPECT_EQ(document.Root(), Hash256{});
  EXPECT_EQ(document.root_node(), nullptr);
}

// Changes lie over the trie until the root is asked for, in a copy or here, by one thread or several.
TEST(Document, ChangesCountFromTheMomentTheyAreMade) {
  for (int between = 1; between <= 40; between += 13) {
    Document document, kept;
    Json model = Json::object(), kept_model;
    for (int i = 0; i < 200; ++i) {
      const std::string key = "k" + std::to_string(i * i % 61), other = "k" + std::to_string(i * 7 % 61);
      document.Set(key, i);
      model[key] = i;
      if (i % 9 == 8) {
        document.Remove(other);
        model.erase(other);
      }
      ASSERT_EQ(document.Has(other), model.contains(other));
      const Json* found = document.Find(key);
      ASSERT_EQ(found != nullptr, model.contains(key));
      if (found) {
        ASSERT_EQ(*found, model[key]);
      }
      if (i % between == 0) kept = document, kept_model = model;
      if (i % between == 3) {
        ASSERT_EQ(document.size(), model.size());
      }
      if (i % between == 5) document.Flatten();
      if (i % between == 7) {
        ASSERT_EQ(kept.Root(), RootByDefinition(kept_model)) << i;
      }
    }
    const Hash256 wanted = RootByDefinition(model);
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n) threads.emplace_back([&] { EXPECT_EQ(document.Root(), wanted); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(Document::FromJson(model)->Root(), wanted);
  }
}

TEST(Document, CopiesDoNotSeeLaterChanges) {
  Document before = Of(R"({"a":1,"b":[1,2]})");
  Document after = before;
  after.Set("a", 2);
  after.Remove("b");
  EXPECT_EQ(DumpJson(before.ToJson()), R"({"a":1,"b":[1,2]})");
  EXPECT_EQ(DumpJson(after.ToJson()), R"({"a":2})");
  EXPECT_NE(before.Root(), after.Root());
  EXPECT_TRUE(before.Has("b"));
  EXPECT_EQ(after.Find("b"), nullptr);
}

TEST(Document, StoredBytesAreTheTextOfTheSnapshot) {
  Document document = Of(R"({"a":1,"b":[1,2],"ü\n":{"x":"y"}})");
  EXPECT_EQ(document.stored_bytes() + 1, DumpJson(document.ToJson()).size());  // two braces more, the last comma less
  document.Set("a", "longer");
  EXPECT_EQ(document.stored_bytes() + 1, DumpJson(document.ToJson()).size());
  document.Remove("b");
  EXPECT_EQ(document.stored_bytes() + 1, DumpJson(document.ToJson()).size());
}

TEST(Document, FindsByPrefixSortedAndVisitsInHashOrder) {
  Document document = Of(R"({"file:b":1,"x":2,"file:a":3,"file":4})");
  auto found = document.WithPrefix("file:");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].first, "file:a");
  EXPECT_EQ(*found[1].second, 1);
  std::vector<Hash256> paths;
  document.ForEach([&](const std::string& key, const Json&) {
    paths.push_back(Sha256(key));
    return paths.size() < 3;
  });
  EXPECT_EQ(paths.size(), 3u);
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
}

TEST(DocumentApply, MovesAndCopiesAcrossEntries) {
  Document document = Of(R"({"a":{"list":[1,2,3]},"b":{"x":0}})");
  auto status = document.Apply(*ParseJson(R"([{"op":"copy","from":"/a/list","path":"/c"},{"op":"move","from":"/a/list/0","path":"/b/x"},
      {"op":"add","path":"/c/-","value":4},{"op":"move","from":"/b","path":"/d"},{"op":"test","path":"/d/x","value":1.0},
      {"op":"copy","from":"/d","path":"/a/deep"},{"op":"remove","path":"/d"}])"));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(DumpJson(document.ToJson()), R"({"a":{"list":[2,3],"deep":{"x":1}},"c":[1,2,3,4]})");
  EXPECT_EQ(document.Root(), Of(DumpJson(document.ToJson())).Root());
}

TEST(DocumentApply, IsAllOrNothing) {
  Document document = Of(R"({"a":[1],"b":2})");
  const Hash256 root = document.Root();
  const auto node = document.root_node();
  auto refusal = [&](std::string_view patch) {
    auto status = document.Apply(*ParseJson(patch));
    EXPECT_FALSE(status.ok()) << patch;
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_EQ(document.Root(), root);
    EXPECT_EQ(document.root_node(), node);
    return status.message();
  };
  EXPECT_THAT(refusal(R"([{"op":"remove","path":"/b"},{"op":"add","path":"/a/5","value":1}])"),
              HasSubstr("operation 1 (add \"/a/5\"): index 5 is beyond the end of an array of 1"));
  EXPECT_THAT(refusal(R"([{"op":"replace","path":"/none","value":1}])"), HasSubstr("there is no entry \"none\""));
  EXPECT_THAT(refusal(R"([{"op":"add","path":"/none/x","value":1}])"), HasSubstr("there is no entry \"none\""));
  EXPECT_THAT(refusal(R"([{"op":"remove","path":"/b"},{"op":"remove","path":"/b"}])"), HasSubstr("operation 1"));
  EXPECT_THAT(refusal(R"([{"op":"test","path":"/b","value":3}])"), HasSubstr("another one"));
  EXPECT_THAT(refusal(R"([{"op":"move","from":"/a","path":"/a/0"}])"), HasSubstr("into itself"));
  EXPECT_THAT(refusal(R"([{"op":"copy","from":"/x","path":"/y"}])"), HasSubstr("\"from\": there is no entry \"x\""));
  for (const char* whole :
       {R"([{"op":"replace","path":"","value":{}}])", R"([{"op":"copy","from":"","path":"/x"}])", R"([{"op":"remove","path":""}])"}) {
    EXPECT_THAT(refusal(whole), HasSubstr("names an entry")) << whole;
  }
  EXPECT_THAT(refusal(R"({"op":"add"})"), HasSubstr("array of operations"));
}

TEST(DocumentApply, RefusesWhatCannotBeStored) {
  Document document = Of(R"({"a":[]})");
  const Hash256 root = document.Root();
  EXPECT_THAT(document.Apply(Json::array({PatchAdd({"b"}, "x\xff")})).message(), HasSubstr("UTF-8"));
  EXPECT_THAT(document.Apply(Json::array({PatchAdd({std::string("b\0", 2)}, 1)})).message(), HasSubstr("NUL"));
  Json deep = 1;
  for (int i = 0; i < kMaxEntryDepth; ++i) deep = Json::array({deep});
  EXPECT_THAT(document.Apply(Json::array({PatchAdd({"a", "-"}, deep)})).message(), HasSubstr("deeper"));
  EXPECT_EQ(document.Root(), root);
  EXPECT_TRUE(document.Apply(Json::array({PatchAdd({"a"}, deep)})).ok());
}

TEST(DocumentApply, LeavesOtherEntriesShared) {
  Document document;
  for (int i = 0; i < 1000; ++i) document.Set("k" + std::to_string(i), i);
  Document after = document;
  ASSERT_TRUE(after.Apply(Json::array({PatchReplace({"k7"}, "new")})).ok());
  int moved = 0;
  for (int i = 0; i < 1000; ++i) moved += document.Find("k" + std::to_string(i)) != after.Find("k" + std::to_string(i));
  EXPECT_EQ(moved, 1);
}

}  // namespace
// Hashes are worked out when they are first asked for, by whichever thread that is.
TEST(Document, TheRootIsTheSameForAllWhoAskFirst) {
  for (int round = 0; round < 50; ++round) {
    Document document;
    for (int i = 0; i < 40; ++i) document.Set("key" + std::to_string(i), Json{{"n", i + round}});
    std::vector<Hash256> roots(4);
    std::vector<std::size_t> sizes(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < roots.size(); ++t) {
      threads.emplace_back([&, t, copy = document] {
        roots[t] = copy.Root();
        sizes[t] = copy.stored_bytes();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::set<Hash256>(roots.begin(), roots.end()), std::set<Hash256>{Document::FromJson(document.ToJson())->Root()});
    EXPECT_EQ(std::set<std::size_t>(sizes.begin(), sizes.end()).size(), 1u);
  }
}

// From any thread, all at once.
TEST(Document, AnEntryOfTextIsReadOnceWhoeverAsks) {
  for (int round = 0; round < 50; ++round) {
    const auto leaf = trie::MakeLeafOfText(trie::PathOf("k"), "k", R"({"a":[1,2.5,"x"],"b":{}})");
    Document document;
    document.Share(leaf);
    document.Share(trie::MakeLeaf("other", 1));  // lies over the first
    std::vector<const Json*> values(4);
    std::vector<Hash256> roots(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < values.size(); ++i) {
      threads.emplace_back([&, i] {
        values[i] = &leaf->value();
        roots[i] = document.Root();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], values[0]);
      EXPECT_EQ(roots[i], RootByDefinition(ParseJson(R"({"k":{"a":[1,2.5,"x"],"b":{}},"other":1})").value()));
    }
  }
}

// The same trie, whether its changes are laid over it first or not.
TEST(Document, ChangedAtOnceIsAsChangedLater) {
  std::mt19937 random(7);
  Document later, at_once;
  for (int round = 0; round < 300; ++round) {
    std::map<std::string, std::optional<int>> wanted;
    for (int n = int(random() % 6); n >= 0; --n) {
      wanted["k" + std::to_string(random() % 12)] = random() % 3 == 0 ? std::nullopt : std::optional<int>(int(random() % 4));
    }
    std::vector<trie::Change> changes;
    for (const auto& [key, value] : wanted) {
      changes.push_back({trie::PathOf(key), value ? trie::MakeLeafOfText(trie::PathOf(key), key, std::to_string(*value)) : nullptr});
      if (value) {
        later.Set(key, *value);
      } else {
        later.Remove(key);
      }
    }
    at_once.Change(std::move(changes));
    ASSERT_EQ(at_once.Root(), later.Root());
    ASSERT_EQ(at_once.Root(), RootByDefinition(later.ToJson()));
    ASSERT_EQ(at_once.stored_bytes(), later.stored_bytes());
    ASSERT_EQ(DumpJson(at_once.ToJson()), DumpJson(later.ToJson()));
  }
}

}  // namespace acl
