#include "tests/sim/seeds.h"

#include <fmt/format.h>

#include <cstdlib>

namespace acl::test {

namespace {

SimReport RunOne(std::uint64_t seed, const MakeLoad& make, const SimOptions& options) {
  auto load = make();
  return SimTestBed(seed, *load, options).Run();
}

}  // namespace

SimOptions OptionsOf(std::uint64_t seed, const SimOptions& large) {
  if (seed % 20 == 1) return large;
  SimOptions small = large;
  small.subjects = 1 + int(seed % 3);
  small.workers = 2;
  small.fault_time = std::chrono::seconds(4 + seed % 4);
  return small;
}

std::string Shrink(std::uint64_t seed, const MakeLoad& make, const SimOptions& options) {
  constexpr int kMostRuns = 1'000;
  SimOptions least = options;
  SimReport report = RunOne(seed, make, least);
  const std::size_t all = report.faults.size();
  int runs = 0;
  const auto breaks = [&](const SimOptions& tried) {
    if (++runs > kMostRuns) return false;
    SimReport other = RunOne(seed, make, tried);
    if (other.violations.empty()) return false;
    report = std::move(other);
    return true;
  };
  // First the shortest beginning that is enough, then ever smaller pieces of it left out.
  int low = 0, high = int(all);
  while (low < high) {
    SimOptions tried = least;
    tried.faults_until = (low + high) / 2;
    if (breaks(tried)) {
      high = tried.faults_until;
    } else {
      low = tried.faults_until + 1;
    }
  }
  SimOptions tried = least;
  tried.faults_until = high;
  if (breaks(tried)) least = tried;
  const int until = std::min(least.faults_until, int(all));
  for (std::size_t before = 0; before != least.spared.size() || before == 0;) {
    before = least.spared.size();
    for (int piece = std::max(1, until / 2); piece >= 1; piece /= 2) {
      for (int from = 0; from < until; from += piece) {
        tried = least;
        for (int n = from; n < std::min(from + piece, until); ++n) tried.spared.insert(n);
        if (tried.spared.size() > least.spared.size() && breaks(tried)) least = tried;
      }
    }
    if (least.spared.empty()) break;
  }
  report = RunOne(seed, make, least);
  std::string text;
  std::size_t left = 0;
  for (int n = 0; n < int(report.faults.size()) && n < least.faults_until; ++n) {
    if (least.spared.contains(n)) continue;
    ++left;
    text += fmt::format("\n    {:9.3f} s  {}", double(report.faults[std::size_t(n)].at.count()) / 1e6, report.faults[std::size_t(n)].what);
  }
  return fmt::format("seed {}: {} of its {} faults are enough for: {}{}", seed, left, all,
                     report.violations.empty() ? "(nothing any more)" : report.violations.front(), text);
}

SimReport RunSeeds(std::uint64_t first, int count, const MakeLoad& make, const SimOptions& large,
                   const std::function<void(SimLoad&)>& ended, bool shrink) {
  SimReport sum;
  const char* only = std::getenv("ACL_SIM_SEED");
  const std::uint64_t begin = only ? std::strtoull(only, nullptr, 10) : first;
  const std::uint64_t end = only ? begin + 1 : first + std::uint64_t(count);
  for (std::uint64_t seed = begin; seed < end; ++seed) {
    const SimOptions options = OptionsOf(seed, large);
    auto load = make();
    const SimReport report = SimTestBed(seed, *load, options).Run();
    sum.Add(report);
    if (ended) ended(*load);
    if (!report.violations.empty()) {
      if (shrink) sum.violations.push_back(Shrink(seed, make, options));
      return sum;
    }
    if (seed % 100 != 0 && !only) continue;
    if (RunOne(seed, make, options).trace_hash != report.trace_hash)
      sum.violations.push_back(fmt::format("seed {}: a second run was another one", seed));
  }
  return sum;
}

}  // namespace acl::test
