#include "chaos/load/monitor.h"

#include <poll.h>

#include "chaos/http/client.h"

namespace acl::chaos {
namespace {

struct Wanted {
  const char *field, *metric, *labels;
};
constexpr Wanted kWanted[] = {
    {"fence_refusals", "acl_fence_refusals_total", ""},
    {"commits_committed", "acl_commits_total", "outcome=\"committed\""},
    {"commits_unknown", "acl_commits_total", "outcome=\"unknown\""},
    {"commits_fenced", "acl_commits_total", "outcome=\"fenced\""},
    {"lease_losses", "acl_lease_losses_total", ""},
    {"reaps", "acl_reaps_total", ""},
    {"sessions_died", "acl_sessions_died_total", ""},
    {"messages_dropped", "acl_queue_messages_total", "outcome=\"dropped\""},
    {"messages_poison", "acl_queue_messages_total", "outcome=\"poison\""},
    {"claimed_late", "acl_queue_late_claims_total", ""},
};

}  // namespace

Monitor::Monitor(std::map<std::string, std::string> pages) : pages_(std::move(pages)) {
  thread_ = std::thread([this] {
    while (!stop_) {
      Read();
      poll(nullptr, 0, 150);
    }
  });
}

Monitor::~Monitor() {
  stop_ = true;
  thread_.join();
}

void Monitor::Read() {
  for (const auto& [name, url] : pages_) {
    HttpAsk ask;
    ask.url = url;
    ask.timeout = std::chrono::milliseconds(300);
    const HttpAnswer page = Http(ask);
    if (!page.ok()) continue;
    std::lock_guard lock(mutex_);
    for (const Wanted& wanted : kWanted) {
      Counter& counter = counters_[name][wanted.field];
      const double now = MetricOf(page.body, wanted.metric, wanted.labels);
      if (now < counter.last) counter.before += counter.last;  // another process at the same place
      counter.last = now;
    }
  }
}

Json Monitor::Totals() {
  Read();
  std::lock_guard lock(mutex_);
  Json totals = Json::object();
  for (const Wanted& wanted : kWanted) totals[wanted.field] = 0.0;
  for (const auto& [process, counters] : counters_) {
    for (const auto& [field, counter] : counters) totals[field] = totals[field].get<double>() + counter.before + counter.last;
  }
  return totals;
}

}  // namespace acl::chaos
