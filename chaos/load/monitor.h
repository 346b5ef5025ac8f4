#pragma once
// What processes count, added up over their restarts: a process that is killed takes its counters with it, so they are read all the time.

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "shared/base/json.h"

namespace acl::chaos {

class Monitor {
 public:
  // `pages`: the /metrics of each process, by the process's name.
  explicit Monitor(std::map<std::string, std::string> pages);
  ~Monitor();
  // The last reading, and the sums so far.
  Json Totals();

 private:
  struct Counter {
    double last = 0, before = 0;  // of the process as it is; of those before it at this place
  };
  void Read();

  const std::map<std::string, std::string> pages_;
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, Counter>> counters_;  // process, metric
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace acl::chaos
