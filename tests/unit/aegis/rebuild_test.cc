// What the ledger records of a compile input gives the bundle and the prompt again, bit by bit.
#include "shared/aegis/rebuild.h"

#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"
#include "tests/unit/aegis/bundle_fixture.h"

namespace acl::aegis {
namespace {

using namespace bundles;

CompileInput RandomInput(Random& random) {
  std::vector<Artifact> artifacts;
  for (int i = int(random.Below(60)); i > 0; --i) artifacts.push_back(RandomArtifact(random, i));
  const std::uint64_t size = 60 + random.Below(3'000);
  const std::string ring = "{tokens: " + std::to_string(size) + ", bytes: " + std::to_string(size * 6) + "}";
  const std::string caps =
      "{ring0: {tokens: 800, bytes: 6000}, ring1: " + ring + ", ring2: " + ring + ", exclusions: " + std::to_string(random.Below(20)) + "}";
  std::string question = RandomText(random, random.Below(12));
  if (random.Below(3) == 0) question += " from the deep history";
  const WallTime now = kAskedAt + std::chrono::microseconds(random.Below(10'000'000));
  const int tier = 1 + int(random.Below(3));
  CompileInput input = InputFor(artifacts, question, KernelText(caps, tier), random.Below(4) == 0, now);
  if (random.Below(3) == 0) input.tools.clear();
  if (random.Below(3) == 0) {
    ToolOutput disk = Health();
    disk.tool = "disk_usage";
    disk.available = random.Below(2) == 0;
    disk.reason = "not_installed";
    if (random.Below(2) == 0) disk.values = Json::object();
    input.tools.push_back(disk);
  }
  return input;
}

std::function<Result<std::string>(const std::string&)> ReadFrom(std::map<std::string, std::string> contents) {
  return [contents = std::move(contents)](const std::string& hash) -> Result<std::string> {
    const auto found = contents.find(hash);
    if (found == contents.end()) return Error{Code::kNotFound, "there is no content " + hash};
    return found->second;
  };
}

TEST(Rebuild, AThousandRandomInputsGiveTheSameBytes) {
  std::size_t conflicts = 0, disclosed = 0, cut = 0;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    SeededRandom random(seed);
    CompileInput input = RandomInput(random);
    const std::string recorded = DumpJson(CompileInputToJson(input));
    auto bundle = Compile(std::move(input));
    ASSERT_TRUE(bundle.ok()) << "seed " << seed << ": " << bundle.error();
    conflicts += bundle->json().at("conflict_count").get<std::size_t>() > 0;
    disclosed += bundle->json().contains("disclosure");
    cut += bundle->json().at("truncated").get<std::int64_t>() > 0;
    EXPECT_EQ(bundle->canonical(), CanonicalJson(ParseJson(bundle->canonical()).value())) << "seed " << seed;
    auto prompt = Render(std::move(*bundle));
    ASSERT_TRUE(prompt.ok()) << "seed " << seed << ": " << prompt.error();
    auto rebuilt = RebuildBundle(ParseJson(recorded).value());
    ASSERT_TRUE(rebuilt.ok()) << "seed " << seed << ": " << rebuilt.error();
    ASSERT_EQ(TextsOf(*prompt), *rebuilt) << "seed " << seed;
    // As a ledger may store it: artifacts by content, the record canonically.
    const SplitRecord split = SplitByContent(ParseJson(recorded).value());
    auto joined = JoinRecord(ParseJson(CanonicalJson(split.record)).value(), ReadFrom(split.contents));
    ASSERT_TRUE(joined.ok()) << "seed " << seed << ": " << joined.error();
    auto again = RebuildBundle(*joined);
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.error();
    ASSERT_EQ(*again, *rebuilt) << "seed " << seed;
    EXPECT_EQ(recorded.find("hunter2"), std::string::npos) << "seed " << seed << ": a secret is on record";
    EXPECT_EQ(CanonicalMessages(rebuilt->messages).find("hunter2"), std::string::npos) << "seed " << seed;
  }
  EXPECT_GT(conflicts, 100u);
  EXPECT_GT(disclosed, 100u);
  EXPECT_GT(cut, 100u);
}

TEST(Rebuild, ContentsAreStoredOnceAndChecked) {
  const Json first = CompileInputToJson(InputFor({Fact("1", "the disk is full")}, "is the disk full"));
  const Json second = CompileInputToJson(InputFor({Fact("1", "the disk is full"), Fact("2", "the disk is old")}, "is the disk full"));
  SplitRecord one = SplitByContent(first), two = SplitByContent(second);
  EXPECT_EQ(one.contents.size(), 2u);  // the kernel and the fact
  two.contents.merge(one.contents);
  EXPECT_EQ(two.contents.size(), 3u);
  EXPECT_EQ(CanonicalJson(JoinRecord(one.record, ReadFrom(two.contents)).value()), CanonicalJson(first));
  std::map<std::string, std::string> damaged = two.contents;
  for (auto& [hash, content] : damaged) content += " ";
  EXPECT_EQ(JoinRecord(one.record, ReadFrom(damaged)).error().code, Code::kCorrupt);
  EXPECT_EQ(JoinRecord(one.record, ReadFrom({})).error().code, Code::kNotFound);
  EXPECT_EQ(JoinRecord(Json("x"), ReadFrom({})).error().code, Code::kInvalid);
}

// tests/data/aegis/bundles: digests of bundles and prompts of fixed inputs, the same on every machine; ACL_UPDATE_GOLDEN=1 writes them.
TEST(Rebuild, GoldenDigests) {
  const std::string path = ACL_SOURCE_DIR "/tests/data/aegis/bundles/digests.txt";
  std::string now;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SeededRandom random(seed);
    auto rebuilt = RebuildBundle(CompileInputToJson(RandomInput(random)));
    ASSERT_TRUE(rebuilt.ok()) << rebuilt.error();
    now += std::to_string(seed) + " " + rebuilt->bundle_hash + " " + rebuilt->prefix_hash + " " + rebuilt->prompt_hash + "\n";
  }
  if (std::getenv("ACL_UPDATE_GOLDEN")) std::ofstream(path) << now;
  EXPECT_EQ(now, TextOfFile(path)) << "the same input gives another bundle or prompt: raise kCompilerVersion, then ACL_UPDATE_GOLDEN=1";
}

// A record as a ledger holds it, with the bundle and prompt of its day: what reads records never forgets how.
TEST(Rebuild, AnOldRecordGivesItsBundleAndPrompt) {
  const std::string folder = ACL_SOURCE_DIR "/tests/data/aegis/bundles/";
  const auto record = ParseJson(TextOfFile(folder + "recorded.json"));
  ASSERT_TRUE(record.ok()) << record.error();
  auto rebuilt = RebuildBundle(*record);
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error();
  EXPECT_EQ(rebuilt->bundle + "\n", TextOfFile(folder + "recorded.bundle.json"));
  EXPECT_EQ(CanonicalMessages(rebuilt->messages) + "\n", TextOfFile(folder + "recorded.prompt.json"));
}

void Collect(Json& json, std::vector<Json*>* all) {
  all->push_back(&json);
  if (!json.is_structured()) return;
  for (auto& [key, member] : json.items()) Collect(member, all);
}

// A record that is damaged gives an error or a bundle, and the same one each time.
TEST(Rebuild, DamagedRecordsHarmNothing) {
  const Json good = ParseJson(TextOfFile(ACL_SOURCE_DIR "/tests/data/aegis/bundles/recorded.json")).value();
  const std::vector<Json> odd = {nullptr,
                                 true,
                                 -1,
                                 1e300,
                                 "",
                                 "x\ny",
                                 Json::array(),
                                 Json::object(),
                                 std::int64_t(1) << 62,
                                 "ledger:1",
                                 Json::array({Json::object()}),
                                 "\xF0\x9F\x9A\x80",
                                 "9999-12-31T23:59:59Z",
                                 "untrusted",
                                 0};
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SeededRandom random(seed);
    Json bad = good;
    for (std::uint64_t i = 1 + random.Below(2); i > 0; --i) {
      std::vector<Json*> all;
      Collect(bad, &all);
      Json& place = *all[random.Below(all.size())];
      place = odd[random.Below(odd.size())];
    }
    const auto first = RebuildBundle(bad), second = RebuildBundle(bad);
    ASSERT_EQ(first.ok(), second.ok()) << "seed " << seed;
    refused += first.ok() ? 0 : 1;
    EXPECT_TRUE(first.ok() ? *first == *second : !first.error().message.empty()) << "seed " << seed;
  }
  EXPECT_GT(refused, 500u);
}

TEST(Rebuild, RecordsThatAreNoneAreRefusedWithTheirPlace) {
  const Json good = CompileInputToJson(InputFor({Fact("1", "the disk is full")}, "is the disk full"));
  ASSERT_TRUE(RebuildBundle(good).ok());
  for (const auto& [key, value] : good.items()) {
    Json bad = good;
    bad[key] = Json::array({17});
    EXPECT_FALSE(RebuildBundle(bad).ok()) << key;
    bad.erase(key);
    EXPECT_EQ(RebuildBundle(bad).ok(), key == "deep_history") << key;
  }
  Json later = good;
  later["version"] = "aegis-compile/2";
  EXPECT_NE(RebuildBundle(later).error().message.find("rebuild it with the program of that version"), std::string::npos);
  EXPECT_FALSE(RebuildBundle(Json("text")).ok());
}

}  // namespace
}  // namespace acl::aegis
