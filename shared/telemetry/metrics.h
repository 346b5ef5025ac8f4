#pragma once
// Metrics: cheap handles to numbers in a registry, and the registry as a page in Prometheus' text form. Names are in names.h.
//
//   Metrics metrics;
//   Counter refused = metrics.counter(names::kFenceRefusals);
//   refused.Add();
//
// Handles are values (one pointer), safe from any thread, live as long as the Metrics they came from. A default-made handle counts
// nothing, so a part can be built without metrics. Labels only of bounded sets: never an id.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace acl {

struct MetricDef {
  std::string_view name;
  std::string_view help;
  std::vector<double> buckets = {};  // histograms only: upper bounds
};

using MetricLabels = std::map<std::string, std::string>;

class Counter {
 public:
  Counter() = default;
  explicit Counter(prometheus::Counter* counter) : counter_(counter) {}
  void Add(double amount = 1);  // never negative
  double Value() const;

 private:
  prometheus::Counter* counter_ = nullptr;
};

class Gauge {
 public:
  Gauge() = default;
  explicit Gauge(prometheus::Gauge* gauge) : gauge_(gauge) {}
  void Set(double value);
  void Add(double amount);  // may be negative
  double Value() const;

 private:
  prometheus::Gauge* gauge_ = nullptr;
};

class Histogram {
 public:
  Histogram() = default;
  explicit Histogram(prometheus::Histogram* histogram) : histogram_(histogram) {}
  void Observe(double value);
  double Sum() const;
  std::int64_t Count() const;

 private:
  prometheus::Histogram* histogram_ = nullptr;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The same definition and labels give the same number. Not for hot paths: keep the handle.
  Counter counter(const MetricDef& def, const MetricLabels& labels = {});
  Gauge gauge(const MetricDef& def, const MetricLabels& labels = {});
  Histogram histogram(const MetricDef& def, const MetricLabels& labels = {});

  // Content type of Page().
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";
  std::string Page() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acl
