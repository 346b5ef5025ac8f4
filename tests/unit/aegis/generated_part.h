#pragma once
// The parts of docs/guides/aegis.md that tests write: between "<!-- NAME -->" and "<!-- end of NAME -->".

#include <string>

namespace acl::aegis::test {

// ACL_UPDATE_DOCS=1 writes it; else it must be there as it is.
void CheckGeneratedPart(const std::string& name, const std::string& want);

}  // namespace acl::aegis::test
