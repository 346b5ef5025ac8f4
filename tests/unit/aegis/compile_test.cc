// What goes into a bundle, what does not, and what the bundle says about it.
#include "shared/aegis/compile.h"

#include "shared/aegis/words.h"
#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"
#include "tests/unit/aegis/bundle_fixture.h"

namespace acl::aegis {
namespace {

using namespace bundles;
using Ids = std::vector<std::string>;

// The kinds of the document's own example, by name.
std::map<std::string, std::string> KindsOf(const Json& object) {
  std::map<std::string, std::string> kinds;
  for (const auto& [key, value] : object.items()) kinds[key] = value.type_name();
  return kinds;
}

// Every key of document 004's example stands in our bundle, with the same kind of value; what is ours is added.
TEST(Bundle, HasTheShapeOfTheDocument) {
  const Json document = ParseJson(TextOfFile(ACL_SOURCE_DIR "/tests/data/aegis/context_bundle.json")).value();
  Artifact log = Of(ArtifactType::kNote, "log", "sight sight sight");
  for (int i = 0; i < 9; ++i) log.text += "\nINFO worker started again";
  Artifact drift = Of(ArtifactType::kDriftwatch, "0042", "Sight requires sys_health values in Beta.");
  const Json bundle = BundleOf(InputFor({Fact("000183", "UNKNOWN domains are treated as risk needing verification of sight."), drift, log},
                                        "which unknown domains does sight see?"));
  const auto same = [](const Json& theirs, const Json& ours, const std::string& where) {
    const auto kinds = KindsOf(ours);
    for (const auto& [key, kind] : KindsOf(theirs)) EXPECT_EQ(kinds.count(key) ? kinds.at(key) : "none", kind) << where << "." << key;
  };
  same(document, bundle, "bundle");
  same(document["sight"]["sys_health"], bundle["sight"]["sys_health"], "sight");
  for (const char* list : {"constraints", "facts", "open_items", "intent", "exclusions"}) same(document[list][0], bundle[list][0], list);
  EXPECT_EQ(bundle["sight"]["sys_health"]["values"], document["sight"]["sys_health"]["values"]);
  EXPECT_EQ(bundle["sight"]["sys_health"]["freshness_s"], 3);
  EXPECT_EQ(bundle["constraints"], document["constraints"]);
  EXPECT_EQ(bundle["intent"], document["intent"]);
  EXPECT_EQ(bundle["facts"][0]["confidence"], "high");
  EXPECT_EQ(bundle["facts"][0]["source"], "ledger");
  EXPECT_EQ(bundle["model_id"], document["model_id"]);
  EXPECT_EQ(bundle["compiled_at"], "2026-01-08T12:00:00Z");
  EXPECT_EQ(bundle["exclusions"][0]["reason"], "evidence_blob_disallowed");
}

TEST(Bundle, IsCanonicalAndHashed) {
  auto bundle = Compile(InputFor({Fact("1", "the disk is full")}, "is the disk full"));
  ASSERT_TRUE(bundle.ok());
  EXPECT_EQ(bundle->canonical(), CanonicalJson(bundle->json()));
  EXPECT_EQ(bundle->hash(), "sha256:" + ToHex(Sha256(bundle->canonical())));
  ASSERT_EQ(bundle->included().size(), 2u);
  const IncludedArtifact &sight = bundle->included()[0], &fact = bundle->included()[1];
  EXPECT_EQ(sight.type, "sys_health");
  EXPECT_EQ(sight.id, "tool:x1");
  EXPECT_EQ(sight.reason, "sight");
  EXPECT_EQ(sight.risk_flags, (Ids{"untrusted", "unknowns"}));
  EXPECT_EQ(fact.id, "ledger:1");
  EXPECT_EQ(fact.reason, "relevant");
  EXPECT_EQ(fact.freshness_s, 86'400);
}

TEST(Bundle, NothingIsMadeUp) {
  const Json bundle = BundleOf(InputFor({}, "is the disk full"));
  for (const char* list : {"facts", "open_items", "turns", "work", "exclusions", "conflicts"})
    EXPECT_EQ(bundle[list], Json::array()) << list;
  EXPECT_EQ(bundle["truncated"], 0);
  EXPECT_FALSE(bundle.contains("disclosure"));
}

TEST(Rings, Ring1HoldsWhatBearsOnTheQuestion) {
  Artifact intent = Of(ArtifactType::kIntent, "i", "Prepare the migration"), foreign = Of(ArtifactType::kIntent, "j", "Something else");
  intent.session = kThisSession;
  foreign.session = "another";
  const Json bundle =
      BundleOf(InputFor({intent, foreign, Fact("1", "the billing queue is on host b"), Fact("2", "cats sleep"),
                         Of(ArtifactType::kDriftwatch, "d1", "billing claimed"), Of(ArtifactType::kDriftwatch, "d2", "weather claimed"),
                         Of(ArtifactType::kTask, "t", "write the page"), Of(ArtifactType::kCheckpoint, "c", "half of the page"),
                         Of(ArtifactType::kNextStep, "n", "write the other half")},
                        "where is the billing queue?"));
  EXPECT_EQ(IdsIn(bundle["facts"]), Ids{"ledger:1"});
  EXPECT_EQ(IdsIn(bundle["open_items"]), Ids{"driftwatch:d1"});
  EXPECT_EQ(IdsIn(bundle["intent"]), Ids{"intent:i"});
  EXPECT_EQ(IdsIn(bundle["work"]), (Ids{"next_step:n", "task:t", "checkpoint:c"}));
  EXPECT_FALSE(bundle.contains("disclosure"));
}

TEST(Rings, DeepHistoryIsNeverImplicit) {
  std::vector<Artifact> artifacts = {Turn("1", "billing was discussed", "2026-01-08T11:01:00Z"),
                                     Turn("2", "and cats", "2026-01-08T11:02:00Z"), Turn("3", "and dogs", "2026-01-08T11:03:00Z")};
  Artifact old_note = Of(ArtifactType::kNote, "old", "billing ran on host a");
  old_note.observed_at = Instant("2025-01-01T00:00:00Z");
  artifacts.push_back(old_note);
  Json bundle = BundleOf(InputFor(artifacts, "how does billing run?"));
  EXPECT_EQ(IdsIn(bundle["turns"]), (Ids{"turn:3", "turn:2"}));  // the two newest of the session
  EXPECT_EQ(IdsIn(bundle["facts"]), Ids{});
  EXPECT_EQ(ReasonsIn(bundle), (Json{{"turn:1", "deep_history_not_requested"}, {"note:old", "deep_history_not_requested"}}));
  for (const auto& [question, flag] :
       {std::pair("how does billing run, by the chat history?", false), std::pair("how does billing run?", true)}) {
    bundle = BundleOf(InputFor(artifacts, question, KernelText(), flag));
    EXPECT_EQ(IdsIn(bundle["turns"]).size(), 3u);
    EXPECT_EQ(IdsIn(bundle["facts"]), Ids{"note:old"});
    EXPECT_EQ(bundle["facts"][0]["ring"], 2);
    EXPECT_EQ(bundle["facts"][0]["why"], "asked_history");
    EXPECT_EQ(bundle["disclosure"], std::string("Deep history was added: 2 older artifacts because the user asked for it (") +
                                        (flag ? "by a flag" : "\"chat history\"") + ").");
  }
}

TEST(Conflicts, BothAreShownMarkedAndCountedOnce) {
  Artifact one = Fact("1", "billing runs on host a"), other = Fact("2", "it moved to host b"),
           third = Fact("3", "billing is written in Go");
  one.subject = other.subject = "billing.host";
  third.contradicts = {"ledger:1"};
  one.contradicts = {"ledger:3"};  // named twice, one conflict
  const Json bundle = BundleOf(InputFor({one, other, third}, "where does billing run?"));
  EXPECT_EQ(IdsIn(bundle["facts"]).size(), 3u);
  EXPECT_EQ(bundle["conflict_count"], 2);
  Json pairs = Json::object();
  for (const Json& conflict : bundle["conflicts"]) {
    EXPECT_EQ(conflict["shown"], true);
    Ids between = conflict["between"];
    std::sort(between.begin(), between.end());
    pairs[between[0] + " " + between[1]] = conflict.value("subject", "");
  }
  EXPECT_EQ(pairs["ledger:1 ledger:2"], "billing.host");
  EXPECT_EQ(pairs["ledger:1 ledger:3"], "");
  for (const Json& fact : bundle["facts"]) {
    if (fact["id"] == "ledger:1") {
      EXPECT_EQ(fact["conflicts_with"], Json::array({"ledger:2", "ledger:3"}));
    }
    if (fact["id"] != "ledger:2") continue;
    EXPECT_EQ(fact["why"], "conflict");  // it shares no word with the question
    EXPECT_EQ(fact["ring"], 2);
  }
  EXPECT_EQ(bundle["disclosure"], "Deep history was added: 1 older artifact to show a conflict.");
}

TEST(Conflicts, TheSameValueInOtherWordsIsNone) {
  Artifact one = Fact("1", "Billing runs on HOST a."), other = Fact("2", "billing runs on host A");
  one.subject = other.subject = "billing.host";
  EXPECT_EQ(BundleOf(InputFor({one, other}, "billing?"))["conflict_count"], 0);
  one.value = "a";
  other.value = "b";
  EXPECT_EQ(BundleOf(InputFor({one, other}, "billing?"))["conflict_count"], 1);
}

// Never one side of a conflict without the other: what does not fit leaves both out, and the bundle says that they disagree.
TEST(Conflicts, BothOrNeither) {
  Artifact one = Fact("1", "billing runs on host a"), other = Fact("2", "billing runs on host b");
  for (int i = 0; i < 200; ++i) other.text += " word" + std::to_string(i);
  one.subject = other.subject = "billing.host";
  const Json bundle = BundleOf(
      InputFor({one, other, Fact("3", "billing is paid")}, "where does billing run?",
               KernelText("{ring0: {tokens: 800, bytes: 6000}, ring1: {tokens: 500, bytes: 1500}, ring2: {tokens: 9, bytes: 9}}")));
  EXPECT_EQ(IdsIn(bundle["facts"]), Ids{"ledger:3"});
  EXPECT_EQ(ReasonsIn(bundle), (Json{{"ledger:1", "over_cap"}, {"ledger:2", "over_cap"}}));
  EXPECT_EQ(bundle["truncated"], 2);
  EXPECT_EQ(bundle["conflict_count"], 1);
  EXPECT_EQ(bundle["conflicts"][0]["shown"], false);
}

TEST(Conflicts, AConflictOfManyShowsEight) {
  std::vector<Artifact> artifacts;
  for (int i = 0; i < 20; ++i) {
    artifacts.push_back(Fact(std::to_string(i), "billing host " + std::to_string(i)));
    artifacts.back().subject = "billing.host";
  }
  const Json bundle = BundleOf(InputFor(artifacts, "billing host?"));
  EXPECT_EQ(IdsIn(bundle["facts"]).size(), kConflictMembers);
  EXPECT_EQ(bundle["truncated"], 12);
  EXPECT_EQ(bundle["conflict_count"], 190);
  EXPECT_EQ(bundle["conflicts"].size(), 64u);
  EXPECT_EQ(bundle["exclusions"][0]["reason"], "conflict_too_large");
}

// Tokens and bytes of the entries never exceed the caps, and more room never shows less.
TEST(Caps, HoldAndCutInTheStatedOrder) {
  std::vector<Artifact> artifacts;
  SeededRandom random(5);
  for (int i = 0; i < 40; ++i) artifacts.push_back(Fact(std::to_string(i), "billing " + RandomText(random, 2 + random.Below(30))));
  std::size_t before = 0;
  for (int tokens : {0, 200, 400, 800, 1'600, 3'200, 6'400, 12'800}) {
    const Json bundle = BundleOf(InputFor(artifacts, "billing?",
                                          KernelText("{ring0: {tokens: 800, bytes: 6000}, ring1: {tokens: " + std::to_string(tokens) +
                                                     ", bytes: 64000}, ring2: {tokens: 0, bytes: 0}}")));
    const Json& rings = bundle["rings"];
    EXPECT_LE(rings["ring1"]["tokens"].get<int>(), tokens);
    std::int64_t counted = 0;
    for (const Json& fact : bundle["facts"]) counted += EstimateTokens(CanonicalJson(fact));
    EXPECT_LE(counted, rings["ring1"]["tokens"].get<std::int64_t>());
    EXPECT_EQ(bundle["facts"].size() + bundle["truncated"].get<std::size_t>(),
              bundle["sight"]["sys_health"]["available"] == true ? 40u : 41u);
    EXPECT_GE(bundle["facts"].size(), before);
    before = bundle["facts"].size();
    std::int64_t last = std::numeric_limits<std::int64_t>::max();
    for (const Json& fact : bundle["facts"]) {
      EXPECT_LE(fact["score"].get<std::int64_t>(), last);
      last = fact["score"].get<std::int64_t>();
    }
    for (const Json& exclusion : bundle["exclusions"]) EXPECT_EQ(exclusion["reason"], "over_cap");
  }
  EXPECT_EQ(before, 40u);
}

TEST(Caps, ARing0ThatDoesNotFitIsNoBundle) {
  const auto bundle = Compile(
      InputFor({}, "x", KernelText("{ring0: {tokens: 10, bytes: 6000}, ring1: {tokens: 9, bytes: 9}, ring2: {tokens: 9, bytes: 9}}")));
  ASSERT_FALSE(bundle.ok());
  EXPECT_NE(bundle.error().message.find("the kernel's 'ring0' allows 10 and 6000: raise it"), std::string::npos) << bundle.error();
}

TEST(Exclusions, HaveReasonAndRankAndAreCountedBeyondTheirCap) {
  std::vector<Artifact> artifacts = {Fact("secret", "billing hunter2"), Fact("tier3", "billing billing"), Fact("open", "billing proposal")};
  artifacts[1].tier = 3;
  artifacts[2].status = "proposed";
  Artifact elsewhere = Fact("elsewhere", "hunter2 about cats");
  artifacts.push_back(elsewhere);
  artifacts.push_back(Fact("good", "billing runs"));
  Json bundle = BundleOf(InputFor(artifacts, "billing?"));
  EXPECT_EQ(ReasonsIn(bundle),
            (Json{{"ledger:tier3", "authority_incompatible"}, {"ledger:open", "not_ratified"}, {"ledger:secret", "sensitive_content"}}));
  EXPECT_EQ(bundle["exclusions_unnamed"], (Json{{"sensitive_content", 1}}));
  for (const Json& exclusion : bundle["exclusions"]) EXPECT_GE(exclusion["rank"].get<int>(), 1);
  bundle =
      BundleOf(InputFor(artifacts, "billing?",
                        KernelText("{ring0: {tokens: 800, bytes: 6000}, ring1: {tokens: 3000, bytes: 24000}, ring2: {tokens: 0, bytes: 0}, "
                                   "exclusions: 1}")));
  EXPECT_EQ(bundle["exclusions"].size(), 1u);
  std::int64_t unnamed = 0;
  for (const auto& [reason, count] : bundle["exclusions_unnamed"].items()) unnamed += count.get<std::int64_t>();
  EXPECT_EQ(unnamed, 3);
  EXPECT_EQ(bundle.dump().find("hunter2"), std::string::npos);
}

// A candidate that nobody screened meets the gates all the same.
TEST(Exclusions, TheGatesAreAskedAgain) {
  CompileInput input = InputFor({}, "billing?");
  Artifact fact = Fact("1", "billing");
  fact.status = "proposed";
  input.found.candidates = {{fact, "", 0}};
  EXPECT_EQ(ReasonsIn(BundleOf(std::move(input))), (Json{{"ledger:1", "not_ratified"}}));
}

// What an index found and did not hand on is cut like what did not fit.
TEST(Caps, WhatWasLeftOutCounts) {
  CompileInput input = InputFor({Fact("1", "billing")}, "billing?");
  input.found.left_out = 17;
  EXPECT_EQ(BundleOf(std::move(input))["truncated"], 17);
}

TEST(Exclusions, AnIntentOfAnotherSession) {
  CompileInput input = InputFor({}, "billing?");
  Artifact intent = Of(ArtifactType::kIntent, "i", "billing");
  intent.session = "another";
  input.found.candidates = {{intent, "", 0}};
  EXPECT_EQ(ReasonsIn(BundleOf(std::move(input))), (Json{{"intent:i", "other_session"}}));
}

TEST(Sight, GivesValuesOrOneOfThreeReasons) {
  const Json bundle = BundleOf(InputFor({}, "x"));
  EXPECT_EQ(bundle["sight"]["sys_health"]["unknowns"], Json::array({"gpu_health"}));
  EXPECT_EQ(bundle["sight"]["disk_usage"]["available"], false);
  EXPECT_EQ(bundle["sight"]["disk_usage"]["reason"], "tool_error");
  EXPECT_EQ(bundle["sight"]["deep_scan"]["reason"], "blocked_by_tier");
  EXPECT_FALSE(bundle["sight"]["deep_scan"].contains("values"));
}

TEST(Sight, WithoutValuesIsSaid) {
  CompileInput input = InputFor({}, "x");
  input.tools[0].values = Json::object();
  auto bundle = Compile(std::move(input));
  ASSERT_TRUE(bundle.ok());
  EXPECT_EQ(bundle->parts().unseen_tools, Ids{"sys_health"});
  EXPECT_EQ(bundle->json()["sight_without_values"], Json::array({"sys_health"}));
  EXPECT_EQ(bundle->json()["sight"]["sys_health"]["reason"], "tool_error");
}

TEST(Sight, OfAToolNoOtherIsLookedThrough) {
  CompileInput input = InputFor({}, "x");
  ToolOutput restart = Health(), unknown = Health(), blocked = Health(), odd = Health();
  restart.tool = "systemctl_restart";
  unknown.tool = "rm_rf";
  blocked.tool = "deep_scan";
  odd.tool = "disk_usage";
  odd.available = false;
  odd.reason = "because";
  input.tools.insert(input.tools.end(), {restart, unknown, blocked, odd});
  const Json bundle = BundleOf(std::move(input));
  EXPECT_EQ(bundle["sight"]["deep_scan"]["available"], false);  // what a tier does not allow is not shown, though it ran
  EXPECT_EQ(bundle["sight"]["disk_usage"]["reason"], "tool_error");
  EXPECT_EQ(ReasonsIn(bundle), (Json{{"tool:rm_rf", "tool_not_declared"}, {"tool:systemctl_restart", "actuation_tool_disallowed"}}));
}

TEST(Sight, WhatCannotBeStoredIsNoValue) {
  CompileInput input = InputFor({}, "x");
  input.tools[0].values["load"] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(BundleOf(std::move(input))["sight"]["sys_health"]["reason"], "tool_error");
}

TEST(Sight, SecretValuesAreRefused) {
  CompileInput input = InputFor({}, "x");
  ToolOutput output = Health();
  output.values["dsn"] = "postgres://u:hunter2@h";
  input.tools = {ScreenOutput(output, FindsHunter)};
  const Json bundle = BundleOf(std::move(input));
  EXPECT_EQ(bundle["sight"]["sys_health"]["available"], false);
  EXPECT_EQ(ReasonsIn(bundle), (Json{{"tool:sys_health", "sensitive_content"}}));
}

TEST(Compile, WhatIsNoInputIsRefused) {
  const auto message = [](const std::function<void(CompileInput&)>& change) {
    CompileInput input = InputFor({Fact("1", "billing")}, "billing?");
    change(input);
    const auto bundle = Compile(std::move(input));
    return bundle.ok() ? std::string("ok") : bundle.error().message;
  };
  EXPECT_EQ(message([](CompileInput&) {}), "ok");
  EXPECT_NE(message([](CompileInput& input) { input.session_id.clear(); }).find("open or resume a session first"), std::string::npos);
  EXPECT_NE(message([](CompileInput& input) { input.user_input = std::string(kUserInputBytes + 1, 'x'); }).find("ask less at once"),
            std::string::npos);
  EXPECT_NE(message([](CompileInput& input) { input.user_input = "\xff"; }).find("send it as UTF-8"), std::string::npos);
  EXPECT_NE(message([](CompileInput& input) { input.found.candidates.push_back(input.found.candidates[0]); }).find("give each its own"),
            std::string::npos);
  EXPECT_NE(message([](CompileInput& input) { input.found.candidates.resize(kMostCandidates + 1); }).find("gather them"),
            std::string::npos);
}

TEST(Bundle, EntriesForTheValidator) {
  const Json bundle = BundleOf(InputFor({Fact("1", "billing runs"), Turn("1", "hello", "2026-01-08T11:01:00Z")}, "billing?"));
  std::map<std::string, std::string> entries;
  for (const BundleEntry& entry : EntriesOf(bundle))
    entries[entry.id] = entry.text + (entry.trust == Trust::kTrusted ? "" : " (untrusted)");
  EXPECT_EQ(entries, (std::map<std::string, std::string>{
                         {"ledger:1", "billing runs"},
                         {"turn:1", "hello (untrusted)"},
                         {"sight:sys_health", R"({"cpu_load":0.42,"disk_free_pct":71,"mem_used_mb":3812} (untrusted))"}}));
}

}  // namespace
}  // namespace acl::aegis
