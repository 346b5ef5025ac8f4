#pragma once
// What a program was built from: for --version, the log at start and acl_build_info.

#include <string>
#include <string_view>

namespace acl {

// The commit, 12 hex digits, with "-dirty" behind it if files differed from it; "unknown" where the build was not told. The programs are
// told (cmake/build_info.cmake); tests are not, so that a commit does not link all of them anew: this definition is weak.
std::string_view BuildCommit();

// "airun 0.1.0 (8859ac4d1f00)"
std::string VersionLine(std::string_view program, std::string_view version);

}  // namespace acl
