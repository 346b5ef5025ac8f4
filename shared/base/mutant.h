#pragma once
// Known mistakes, for the tests that prove that mistakes are noticed. They exist in the build preset `mutants` alone, which holds them all,
// and the one that is on is chosen by name (a program's: by CHAOS_MUTANT in its environment); in every other build Mutant() is a constant
// and what it guards is not compiled.

#include <cstdlib>
#include <string>
#include <string_view>

namespace acl {

#ifdef ACL_MUTANTS
inline std::string& ChosenMutant() {
  static std::string name = [] {
    const char* given = std::getenv("CHAOS_MUTANT");
    return std::string(given == nullptr ? "" : given);
  }();
  return name;  // empty: none
}
inline bool Mutant(std::string_view name) { return ChosenMutant() == name; }
#else
constexpr bool Mutant(std::string_view) { return false; }
#endif

}  // namespace acl
