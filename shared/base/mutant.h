#pragma once
// Known mistakes, for the tests that prove that mistakes are noticed. They exist in the build preset `mutants` alone, which holds them all,
// and the one that is on is chosen by name; in every other build Mutant() is a constant and what it guards is not compiled.

#include <string>
#include <string_view>

namespace acl {

#ifdef ACL_MUTANTS
inline std::string& ChosenMutant() {
  static std::string name;  // empty: none
  return name;
}
inline bool Mutant(std::string_view name) { return ChosenMutant() == name; }
#else
constexpr bool Mutant(std::string_view) { return false; }
#endif

}  // namespace acl
