#pragma once
// Histories of projects with the next step that each must give, for whom (tests/data/projects/histories.jsonl): a line each. They are said
// again to the pure functions, and to a coordinator's desk on both stores: the same state gives the same answer everywhere.

#include <string>
#include <vector>

#include "shared/kinds/project/next_step.h"

namespace acl::project::test {

struct GoldenHistory {
  struct Said {
    std::string by, name;
    Json arguments;
  };
  std::vector<Said> said;
  Json next;           // by actor: what Essence() gives
  std::string digest;  // of the state, under the times of a ProjectDriver
};

inline constexpr const char* kGoldenActors[] = {"ann", "bo", ""};

// An answer without what depends on the time at which things were said.
Json Essence(const NextStep& next);

std::vector<GoldenHistory> ReadGolden(const std::string& source_folder);
std::string ToLine(const GoldenHistory& history);
std::string GoldenFile(const std::string& source_folder);

}  // namespace acl::project::test
