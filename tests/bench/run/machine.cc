#include "tests/bench/run/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "fmt/format.h"

namespace acl::bench {
namespace fs = std::filesystem;
namespace {

std::string Read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The value of "Name:   value" or NAME="value" in such a file.
std::string Field(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const auto at = line.find_first_not_of(":= \t\"", name.size());
    if (at == std::string::npos) continue;
    const auto end = line.find_last_not_of("\" ");
    return line.substr(at, end - at + 1);
  }
  return "";
}

std::int64_t Kilobytes(const std::string& text, const std::string& name) {
  const std::string value = Field(text, name);
  return value.empty() ? 0 : std::stoll(value) * 1024;
}

std::vector<pid_t> Children(pid_t pid) {
  std::vector<pid_t> all;
  std::istringstream pids(Read("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children"));
  for (pid_t child = 0; pids >> child;) all.push_back(child);
  return all;
}

// utime, stime and, if wanted, those of children that were waited for.
double OwnCpu(pid_t pid, bool waited_for) {
  const std::string text = Read("/proc/" + std::to_string(pid) + "/stat");
  const auto after_name = text.rfind(')');
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(text.substr(after_name + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0, children_user = 0, children_system = 0;
  fields >> user >> system >> children_user >> children_system;
  const double ticks = user + system + (waited_for ? children_user + children_system : 0);
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::string Status(pid_t pid) { return Read("/proc/" + std::to_string(pid) + "/status"); }

}  // namespace

std::int64_t MemoryBytes() { return Kilobytes(Read("/proc/meminfo"), "MemTotal"); }

std::int64_t FreeBytes(const fs::path& folder) { return static_cast<std::int64_t>(fs::space(folder).available); }

std::string MachineText() {
  utsname kernel{};
  uname(&kernel);
  const double gib = static_cast<double>(MemoryBytes()) / static_cast<double>(std::int64_t(1) << 30);
  return fmt::format("{} x {}, {:.0f} GiB, {}, Linux {}", sysconf(_SC_NPROCESSORS_ONLN), Field(Read("/proc/cpuinfo"), "model name"), gib,
                     Field(Read("/etc/os-release"), "PRETTY_NAME"), kernel.release);
}

double BusySeconds() {
  std::istringstream fields(Read("/proc/stat"));
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft_interrupts = 0, stolen = 0;
  fields >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts >> stolen;
  return (user + nice + system + interrupts + soft_interrupts + stolen) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double CpuSeconds(pid_t pid) {
  double seconds = OwnCpu(pid, true);
  for (const pid_t child : Children(pid)) seconds += OwnCpu(child, false);
  return seconds;
}

std::int64_t PeakBytes(pid_t pid) { return Kilobytes(Status(pid), "VmHWM"); }

std::int64_t FamilyBytes(pid_t pid) {
  std::vector<pid_t> all = Children(pid);
  all.push_back(pid);
  std::int64_t sum = 0, shared = 0;
  for (const pid_t one : all) {
    const std::string status = Status(one);
    sum += Kilobytes(status, "RssAnon");
    shared = std::max(shared, Kilobytes(status, "RssShmem"));
  }
  return sum + shared;
}

}  // namespace acl::bench
