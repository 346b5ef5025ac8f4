#pragma once
// Sends spans to a collector by OTLP/HTTP: in batches, from a thread of its own, out of a bounded queue. Whoever has a span to tell never
// waits: when the queue is full the span is dropped and counted (acl_trace_spans_total).
//
// Answers 429, 502, 503, 504 and no answer at all are tried again with backoff (as long as Retry-After says, if it does) until
// OTEL_BSP_EXPORT_TIMEOUT has passed for the batch; any other refusal drops the batch. The collector's trouble is logged once, not per
// batch.

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "shared/telemetry/metrics.h"
#include "shared/telemetry/otel_config.h"
#include "shared/telemetry/outage.h"
#include "shared/telemetry/span.h"

namespace acl {

class SpanExporter {
 public:
  // Starts its thread. `metrics` may be null.
  SpanExporter(OtelConfig config, const Clock& clock, Metrics* metrics);
  ~SpanExporter();
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  // From any thread; never blocks. False: dropped, the queue is full or the exporter has stopped.
  bool Add(Span span);
  // What is queued goes now, not at the end of the delay.
  void Hurry();
  // Sends what is queued, for at most `at_most`, and ends the thread; what is left is dropped and counted.
  void Stop(std::chrono::milliseconds at_most);

 private:
  class Poster;  // libcurl
  enum class Sent { kYes, kAgain, kRefused };

  void Run();
  // The next batch; empty: stopped and nothing is left.
  std::vector<Span> NextBatch();
  void Deliver(const std::vector<Span>& batch);
  // False: the wait was cut short because time is up.
  bool Pause(SteadyTime until);
  void Settled(std::size_t spans, Sent how, const std::string& why);

  const OtelConfig config_;
  const Clock& clock_;
  OutageLog outage_;
  Counter exported_, dropped_, refused_, failed_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Span> queue_;
  bool hurry_ = false, stopping_ = false;
  SteadyTime stop_by_{};
  std::unique_ptr<Poster> poster_;
  std::thread thread_;
};

}  // namespace acl
