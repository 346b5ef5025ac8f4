#include "tests/unit/kinds/project/golden.h"

#include <fstream>

namespace acl::project::test {

Json Essence(const NextStep& next) {
  Json essence = ToJson(next);
  essence.erase("state_digest");
  if (essence.contains("blockers"))
    for (Json& one : essence["blockers"]) one.erase("since");
  if (essence.contains("waiting")) {
    for (Json& one : essence["waiting"]) {
      Json codes = Json::array();
      for (const Json& reason : one["reasons"]) codes.push_back(reason["code"]);
      one["reasons"] = std::move(codes);
    }
  }
  return essence;
}

std::string GoldenFile(const std::string& source_folder) { return source_folder + "/tests/data/projects/histories.jsonl"; }

std::vector<GoldenHistory> ReadGolden(const std::string& source_folder) {
  std::vector<GoldenHistory> all;
  std::ifstream file(GoldenFile(source_folder));
  for (std::string line; std::getline(file, line);) {
    const Json read = Json::parse(line);
    GoldenHistory& one = all.emplace_back();
    for (const Json& said : read.at("said")) one.said.push_back({said[0], said[1], said[2]});
    one.next = read.at("next");
    one.digest = read.at("digest");
  }
  return all;
}

std::string ToLine(const GoldenHistory& history) {
  Json said = Json::array();
  for (const GoldenHistory::Said& one : history.said) said.push_back({one.by, one.name, one.arguments});
  return Json{{"said", std::move(said)}, {"next", history.next}, {"digest", history.digest}}.dump();
}

}  // namespace acl::project::test
