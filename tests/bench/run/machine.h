#pragma once
// What /proc and the file system say.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace acl::bench {

std::int64_t MemoryBytes();
std::int64_t FreeBytes(const std::filesystem::path& folder);
// "2 x Some CPU, 24 GiB, Debian GNU/Linux 12, Linux 6.1"
std::string MachineText();

// Seconds that all processors together were at work since the machine started, whoever for.
double BusySeconds();

// User and system time of a process, and of its children: those that live, and those that ended and were waited for.
double CpuSeconds(pid_t pid);
// Most memory of its own that the process ever had; with children (PostgreSQL): their private memory now, and the shared memory in use.
std::int64_t PeakBytes(pid_t pid);
std::int64_t FamilyBytes(pid_t pid);

}  // namespace acl::bench
