#include "coordinator/ask/sight_readings.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>

#include "shared/base/read_file.h"

namespace acl::coordinator {

namespace {

constexpr std::size_t kProcFileBytes = 64 * 1024;
constexpr std::uint64_t kMiB = 1024 * 1024;

std::optional<double> FirstNumber(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  double number = 0;
  const auto read = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  return read.ec == std::errc() && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Of /proc/meminfo, in KiB.
std::optional<double> MemoryLine(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.starts_with(name)) return FirstNumber(line.substr(name.size()));
    at += line.size() + 1;
  }
  return std::nullopt;
}

double Tenths(double number) { return std::round(number * 10) / 10; }

void PutNumber(Reading& out, const std::string& proc, const char* file, const char* name, bool whole) {
  const auto text = ReadFile(proc + "/" + file, kProcFileBytes);
  if (!text) return out.Unknown(name, text.message());
  const auto number = FirstNumber(*text);
  if (!number) return out.Unknown(name, proc + "/" + file + " does not begin with a number");
  if (whole) return out.Value(name, std::int64_t(*number));
  out.Value(name, *number);
}

void PutMemory(Reading& out, const std::string& proc) {
  const auto text = ReadFile(proc + "/meminfo", kProcFileBytes);
  const std::string why = text ? proc + "/meminfo lacks a line" : text.message();
  const auto total = text ? MemoryLine(*text, "MemTotal:") : std::nullopt;
  const auto available = text ? MemoryLine(*text, "MemAvailable:") : std::nullopt;
  if (total) {
    out.Value("mem_total_mb", std::int64_t(*total / 1024));
  } else {
    out.Unknown("mem_total_mb", why);
  }
  if (total && available) {
    out.Value("mem_used_mb", std::int64_t((*total - *available) / 1024));
  } else {
    out.Unknown("mem_used_mb", why);
  }
}

struct DiskSpace {
  std::string folder;
  double free_pct = 0;
  std::int64_t free_mb = 0, total_mb = 0;
  std::optional<double> inodes_free_pct;  // some file systems do not count them
};

Result<DiskSpace> SpaceOf(const std::string& folder) {
  struct statvfs is {};
  if (::statvfs(folder.c_str(), &is) != 0)
    return Error{Code::kUnavailable, "cannot ask for the file system of " + folder + ": " + std::strerror(errno)};
  // As `df` counts: what is kept back for root is neither free nor anybody's.
  const std::uint64_t used = is.f_blocks - is.f_bfree, usable = used + is.f_bavail;
  if (usable == 0) return Error{Code::kUnavailable, folder + " is on a file system without blocks"};
  DiskSpace space;
  space.folder = folder;
  space.free_pct = Tenths(100.0 * double(is.f_bavail) / double(usable));
  space.free_mb = std::int64_t(std::uint64_t(is.f_bavail) * is.f_frsize / kMiB);
  space.total_mb = std::int64_t(std::uint64_t(is.f_blocks) * is.f_frsize / kMiB);
  if (is.f_files > 0) space.inodes_free_pct = Tenths(100.0 * double(is.f_favail) / double(is.f_files));
  return space;
}

}  // namespace

void Reading::Unknown(const std::string& name, const std::string& why) {
  unknowns.push_back(name);
  if (why_.empty()) why_ = why;
}

Result<Reading> Reading::OrError() && {
  if (values.empty()) return Error{Code::kUnavailable, why_.empty() ? "nothing could be read" : why_};
  return std::move(*this);
}

Result<Reading> ReadHostHealth(const std::string& proc, const std::string& folder) {
  Reading out;
  PutNumber(out, proc, "loadavg", "cpu_load", false);
  if (const long cores = ::sysconf(_SC_NPROCESSORS_ONLN); cores > 0) {
    out.Value("cpu_cores", std::int64_t(cores));
  } else {
    out.Unknown("cpu_cores", "the system does not say how many processors it has");
  }
  PutMemory(out, proc);
  if (const auto space = SpaceOf(folder)) {
    out.Value("disk_free_pct", space->free_pct);
  } else {
    out.Unknown("disk_free_pct", space.message());
  }
  PutNumber(out, proc, "uptime", "uptime_s", true);
  out.Unknown("gpu_health", "nothing reads it");
  return std::move(out).OrError();
}

Result<Reading> ReadDisks(const std::vector<std::string>& folders) {
  Reading out;
  std::optional<DiskSpace> fullest;
  std::set<dev_t> seen;
  Json disks = Json::object();
  for (const std::string& folder : folders) {
    struct stat is {};
    if (::stat(folder.c_str(), &is) == 0 && !seen.insert(is.st_dev).second) continue;
    const auto space = SpaceOf(folder);
    if (!space) {
      out.Unknown("disk " + folder, space.message());
      continue;
    }
    Json one = {{"free_pct", space->free_pct}, {"free_mb", space->free_mb}, {"total_mb", space->total_mb}};
    if (space->inodes_free_pct) one["inodes_free_pct"] = *space->inodes_free_pct;
    disks[folder] = std::move(one);
    if (!fullest || space->free_pct < fullest->free_pct) fullest = *space;
  }
  if (fullest) {
    out.Value("disk_free_pct", fullest->free_pct);
    out.Value("disk_free_mb", fullest->free_mb);
    out.Value("disk_total_mb", fullest->total_mb);
    out.Value("fullest", fullest->folder);
    out.Value("disks", std::move(disks));
  }
  return std::move(out).OrError();
}

}  // namespace acl::coordinator
