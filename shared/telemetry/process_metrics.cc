#include "shared/telemetry/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "shared/telemetry/names.h"

namespace acl {

namespace {

std::string TextOf(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// When the machine started, by the wall clock: seconds.
double BootTime() {
  const std::string text = TextOf("/proc/stat");
  const auto at = text.find("btime ");
  return at == std::string::npos ? 0 : std::atof(text.c_str() + at + 6);
}

// Without the one that reads the folder.
double OpenFiles() {
  std::error_code error;
  std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return 0;
  return double(std::distance(files, std::filesystem::directory_iterator())) - 1;
}

}  // namespace

std::optional<ProcessUse> ParseProcStat(std::string_view text) {
  const auto name_end = text.rfind(')');  // the program's name is in brackets, and may hold anything
  if (name_end == std::string_view::npos) return std::nullopt;
  std::istringstream fields{std::string(text.substr(name_end + 1))};
  std::vector<std::int64_t> values = {0, 0, 0};  // field n of proc(5) is values[n]; the third is a letter
  std::string letter;
  fields >> letter;
  values.push_back(0);
  for (std::int64_t value; values.size() <= 24 && fields >> value;) values.push_back(value);
  if (values.size() <= 24) return std::nullopt;
  return ProcessUse{values[14] + values[15], values[22], values[23], values[24], values[20]};
}

ProcessMetrics::ProcessMetrics(Metrics& metrics)
    : cpu_(metrics.counter(names::kProcessCpu)),
      resident_(metrics.gauge(names::kProcessResident)),
      virtual_(metrics.gauge(names::kProcessVirtual)),
      fds_(metrics.gauge(names::kProcessFds)),
      max_fds_(metrics.gauge(names::kProcessMaxFds)),
      threads_(metrics.gauge(names::kProcessThreads)),
      start_(metrics.gauge(names::kProcessStart)) {}

void ProcessMetrics::Measure() {
  const auto use = ParseProcStat(TextOf("/proc/self/stat"));
  if (!use) return;
  const double ticks = double(sysconf(_SC_CLK_TCK));
  cpu_.Add(std::max(0.0, double(use->cpu_ticks) / ticks - cpu_.Value()));
  resident_.Set(double(use->resident_pages) * double(sysconf(_SC_PAGESIZE)));
  virtual_.Set(double(use->virtual_bytes));
  threads_.Set(double(use->threads));
  if (start_.Value() == 0) start_.Set(BootTime() + double(use->started_ticks) / ticks);
  fds_.Set(OpenFiles());
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) max_fds_.Set(double(files.rlim_cur));
}

}  // namespace acl
