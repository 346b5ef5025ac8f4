#pragma once
// Other people's cases (./dev test outside): read from what tests/outside/corpora/export.mjs wrote, each held against our implementation.
// Where we mean to differ, the case stands in a list with the reason; a case that differs and is in no list is red, and so is one that is
// in a list and does not differ.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::outside {

inline std::string Bytes(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) out += char(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

inline Json ReadJsonFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  auto parsed = ParseJson(text.str());
  EXPECT_TRUE(parsed.ok()) << path << ": " << parsed.message();
  return parsed.ok() ? *parsed : Json();
}

inline Json Load(const std::string& corpus) {
  const char* folder = std::getenv("ACL_TEST_CORPORA");
  EXPECT_NE(folder, nullptr) << "ACL_TEST_CORPORA is not set; ./dev test outside fetches the cases and sets it";
  return folder ? ReadJsonFile(std::string(folder) + "/" + corpus + ".json") : Json();
}

struct Deviation {
  const char* reason;
  std::vector<std::string> cases;
};

class Held {
 public:
  Held(std::string corpus, std::vector<Deviation> deviations) : corpus_(std::move(corpus)) {
    for (const auto& deviation : deviations)
      for (const auto& name : deviation.cases) {
        EXPECT_TRUE(expected_.emplace(name, deviation.reason).second) << name << " is listed twice";
      }
  }
  ~Held() {
    for (const auto& [name, reason] : expected_)
      EXPECT_TRUE(deviated_.contains(name)) << corpus_ << ": " << name << " is listed (" << reason << ") but is as the corpus says";
    std::cout << corpus_ << ": " << ran_ << " cases, " << ran_ - int(deviated_.size()) << " as they say, " << deviated_.size()
              << " not, on purpose\n";
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  void Check(const std::string& name, bool as_they_say, const std::string& what_happened) {
    ++ran_;
    if (as_they_say) return;
    deviated_[name] = what_happened;
    EXPECT_TRUE(expected_.contains(name)) << corpus_ << ": " << name << ": " << what_happened;
  }
  int ran() const { return ran_; }

 private:
  std::string corpus_;
  int ran_ = 0;
  std::map<std::string, std::string> expected_, deviated_;
};

}  // namespace acl::outside
