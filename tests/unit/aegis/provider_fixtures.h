#pragma once
// What servers said, byte by byte, and what it means: tests/data/aegis/providers. "said_by" tells which were recorded and which were
// written after a reference.

#include <filesystem>
#include <string>
#include <vector>

#include "shared/aegis/provider/protocol.h"
#include "shared/base/json.h"

namespace acl::aegis::test {

struct ProviderFixture {
  std::string name;
  ProviderKind kind = ProviderKind::kOpenAi;
  bool stream = false;
  int status = 200;
  Headers headers;
  std::string body;
  Json expect;
};

std::vector<ProviderFixture> ProviderFixtures();

// A result in the words of the fixtures' "expect".
Json Shown(const ModelResult& result);

}  // namespace acl::aegis::test
