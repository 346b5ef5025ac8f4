#pragma once
// The handles that the kernel counts with, made once. A default-made one counts nothing.

#include "shared/telemetry/names.h"

namespace acl {

struct KernelMetrics {
  KernelMetrics() = default;
  explicit KernelMetrics(Metrics& metrics)
      : restore_time_ms(metrics.histogram(names::kRestoreTime)),
        events_replayed(metrics.histogram(names::kEventsReplayed)),
        time_since_snapshot_sec(metrics.histogram(names::kTimeSinceSnapshot)),
        journal_since_snapshot_bytes(metrics.histogram(names::kJournalSinceSnapshot)),
        lease_acquisition_failures(metrics.counter(names::kLeaseAcquisitionFailures)),
        idempotency_hits(metrics.counter(names::kIdempotencyHits)),
        committed(metrics.counter(names::kCommits, {{"outcome", "committed"}})),
        fenced(metrics.counter(names::kCommits, {{"outcome", "fenced"}})),
        busy(metrics.counter(names::kCommits, {{"outcome", "busy"}})),
        moved(metrics.counter(names::kCommits, {{"outcome", "moved"}})),
        rejected(metrics.counter(names::kCommits, {{"outcome", "rejected"}})),
        unknown(metrics.counter(names::kCommits, {{"outcome", "unknown"}})),
        commit_batch_size(metrics.histogram(names::kCommitBatch)),
        commit_seconds(metrics.histogram(names::kCommitTime)),
        fence_refusals(metrics.counter(names::kFenceRefusals)),
        lease_losses(metrics.counter(names::kLeaseLosses)),
        claims(metrics.counter(names::kClaims)),
        sticky_claims(metrics.counter(names::kStickyClaims)),
        steps_succeeded(metrics.counter(names::kSteps, {{"outcome", "succeeded"}})),
        steps_failed(metrics.counter(names::kSteps, {{"outcome", "failed"}})),
        steps_timed_out(metrics.counter(names::kSteps, {{"outcome", "timed_out"}})),
        steps_cancelled(metrics.counter(names::kSteps, {{"outcome", "cancelled"}})),
        steps_not_started(metrics.counter(names::kSteps, {{"outcome", "not_started"}})),
        steps_unknown(metrics.counter(names::kSteps, {{"outcome", "unknown"}})) {}

  // document 000, 11.7.7
  Histogram restore_time_ms, events_replayed, time_since_snapshot_sec, journal_since_snapshot_bytes;
  Counter lease_acquisition_failures, idempotency_hits;
  // commits
  Counter committed, fenced, busy, moved, rejected, unknown;
  Histogram commit_batch_size, commit_seconds;
  // `fence_refusals` counts every refused item and call; `lease_losses` each lease once, released unwanted ones too
  Counter fence_refusals, lease_losses, claims, sticky_claims;
  // attempts by StepResult::Outcome
  Counter steps_succeeded, steps_failed, steps_timed_out, steps_cancelled, steps_not_started, steps_unknown;
};

}  // namespace acl
