// One target as a program that libFuzzer drives (preset fuzz).
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/targets/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto run = [] {
    for (const auto& target : acl::fuzz::Targets())
      if (std::string_view(target.name) == ACL_FUZZ_TARGET) return target.run;
    std::abort();
  }();
  run({reinterpret_cast<const char*>(data), size});
  return 0;
}
