#pragma once
// Some memory kept for those who cannot be refused it. An allocation that fails is an error of whoever asked (shared/base/memory.h), but
// the destructor of a JSON value asks too (nlohmann's makes a list of what is in it), and an exception out of a destructor ends the
// process. So what fails first is tried once more with the reserve given up: what is small gets it, what is large fails then, and the
// reserve is taken again before anything unwinds.

namespace acl {

// Once, at the start of a program. The memory is reserved, not used.
void KeepMemoryReserve();

}  // namespace acl
