#include "tests/unit/aegis/bundle_fixture.h"

namespace acl::aegis::bundles {

std::string RandomText(Random& random, std::size_t words) {
  static const std::vector<std::string> kWords = {"billing", "queue", "disk",   "service",    "restart", "fails", "full",
                                                  "Straße",  "größe", "日本",   "backup",     "night",   "\"q\"", "a\\b",
                                                  "tab\t",   "x<y",   "deploy", "worker",     "stuck",   "the",   "is",
                                                  "of",      "🚀",     "ΣΑΣ",    "cafe\u0301", "42",      "line\n"};
  std::string text;
  for (std::size_t i = 0; i < words; ++i) text += (i ? " " : "") + kWords[random.Below(kWords.size())];
  return text;
}

Artifact RandomArtifact(Random& random, int number) {
  Artifact artifact;
  artifact.type = ArtifactType(random.Below(kArtifactTypes));
  const std::string id = std::to_string(number);
  artifact.id = std::string(ArtifactTypeName(artifact.type)) + ":" + id;
  static const std::vector<std::string> kKinds = {"turn:", "ledger:", "tool:", "event:"};
  artifact.source = kKinds[random.Below(kKinds.size())] + id;
  if (artifact.type == ArtifactType::kLedgerFact) artifact.source = "ledger:" + id;
  if (artifact.type == ArtifactType::kObservation) artifact.source = "tool:" + id;
  if (artifact.type == ArtifactType::kTurn) artifact.source = "turn:" + id;
  if (random.Below(20) == 0) artifact.source = "";
  // One draw a statement: compilers differ in the order of what stands in one.
  artifact.observed_at = kAskedAt - std::chrono::seconds(random.Below(100 * 86'400));
  artifact.observed_at -= std::chrono::microseconds(random.Below(3));
  artifact.hash = "sha256:" + id;
  artifact.text = RandomText(random, 1 + random.Below(20));
  if (random.Below(25) == 0) artifact.text += " hunter2";
  if (random.Below(4) == 0) {
    const std::uint64_t whole = random.Below(3), halves = random.Below(9);
    artifact.value = {{"n", whole}, {"f", 0.5 * double(halves)}, {"big", 1e21}, {"wide", 9007199254740993}, {"list", {1, "two", nullptr}}};
  }
  if (random.Below(6) == 0) artifact.text.clear();
  artifact.trust = random.Below(3) == 0 ? Trust::kUntrusted : Trust::kTrusted;
  artifact.tier = 1 + int(random.Below(3));
  for (std::uint64_t i = random.Below(3); i > 0; --i) artifact.topics.push_back(RandomText(random, 1));
  for (std::string& topic : artifact.topics) std::erase_if(topic, [](char c) { return c == '\n' || c == '\t'; });
  if (random.Below(3) == 0) artifact.subject = "subject " + std::to_string(random.Below(8));
  if (random.Below(8) == 0) {
    const std::string type(ArtifactTypeNames()[random.Below(kArtifactTypes)]);
    artifact.contradicts = {type + ":" + std::to_string(random.Below(60))};
  }
  static const std::vector<std::string> kConfidence = {"", "low", "medium", "high", "sure"};
  artifact.confidence = kConfidence[random.Below(kConfidence.size())];
  artifact.status = random.Below(8) == 0 ? "closed" : artifact.type == ArtifactType::kDriftwatch ? "open" : "ratified";
  if (random.Below(2) == 0) artifact.session = kThisSession;
  artifact.speaker = random.Below(2) == 0 ? "user" : "aurora";
  return artifact;
}

}  // namespace acl::aegis::bundles
