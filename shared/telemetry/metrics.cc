#include "shared/telemetry/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <sstream>

namespace acl {

struct Metrics::Impl {
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Counter::Add(double amount) {
  if (counter_ != nullptr) counter_->Increment(amount);
}
double Counter::Value() const { return counter_ == nullptr ? 0 : counter_->Value(); }

void Gauge::Set(double value) {
  if (gauge_ != nullptr) gauge_->Set(value);
}
void Gauge::Add(double amount) {
  if (gauge_ != nullptr) gauge_->Increment(amount);
}
double Gauge::Value() const { return gauge_ == nullptr ? 0 : gauge_->Value(); }

void Histogram::Observe(double value) {
  if (histogram_ != nullptr) histogram_->Observe(value);
}
double Histogram::Sum() const { return histogram_ == nullptr ? 0 : histogram_->Collect().histogram.sample_sum; }
std::int64_t Histogram::Count() const { return histogram_ == nullptr ? 0 : std::int64_t(histogram_->Collect().histogram.sample_count); }

Counter Metrics::counter(const MetricDef& def, const MetricLabels& labels) {
  auto& family = prometheus::BuildCounter().Name(std::string(def.name)).Help(std::string(def.help)).Register(impl_->registry);
  return Counter(&family.Add(labels));
}

Gauge Metrics::gauge(const MetricDef& def, const MetricLabels& labels) {
  auto& family = prometheus::BuildGauge().Name(std::string(def.name)).Help(std::string(def.help)).Register(impl_->registry);
  return Gauge(&family.Add(labels));
}

Histogram Metrics::histogram(const MetricDef& def, const MetricLabels& labels) {
  auto& family = prometheus::BuildHistogram().Name(std::string(def.name)).Help(std::string(def.help)).Register(impl_->registry);
  return Histogram(&family.Add(labels, def.buckets));
}

std::string Metrics::Page() const {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, impl_->registry.Collect());
  return out.str();
}

}  // namespace acl
