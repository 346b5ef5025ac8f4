#pragma once
// Every metric's name, meaning and buckets: one place. The first six are document 000's (11.7.7), by its names; units are in them.

#include "shared/telemetry/metrics.h"

namespace acl::names {

// -- document 000
inline const MetricDef kRestoreTime{"restore_time_ms",
                                    "time to restore a subject's state: snapshot and later events, milliseconds",
                                    {0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000}};
inline const MetricDef kEventsReplayed{"events_replayed_per_restore",
                                       "events replayed after the snapshot in one restore",
                                       {0, 1, 2, 5, 10, 20, 32, 64, 100, 200, 512, 1000, 10000}};
inline const MetricDef kTimeSinceSnapshot{"time_since_last_snapshot_sec",
                                          "age of a subject's newest snapshot when it is restored, seconds",
                                          {0.1, 1, 5, 10, 30, 60, 300, 1800, 3600, 21600, 86400}};
inline const MetricDef kJournalSinceSnapshot{"journal_size_since_snapshot_bytes",
                                             "bytes of journal after a subject's newest snapshot when it is restored",
                                             {256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}};
inline const MetricDef kLeaseAcquisitionFailures{"lease_acquisition_failures",
                                                 "claims that found work and did not get it: held, closed or quarantined by then"};
inline const MetricDef kIdempotencyHits{"idempotency_cache_hits", "requests or completions answered from what was recorded before"};

// -- ours
inline const MetricDef kCommits{"acl_commits_total", "items of group commits by outcome: committed fenced busy moved rejected unknown"};
inline const MetricDef kCommitBatch{"acl_commit_batch_size", "items in one group commit", {1, 2, 4, 8, 16, 32, 64, 128, 256}};
inline const MetricDef kCommitTime{
    "acl_commit_seconds", "time of one group commit, seconds", {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}};
inline const MetricDef kFenceRefusals{"acl_fence_refusals_total", "items refused because the token was no longer the lease's"};
inline const MetricDef kReaps{"acl_reaps_total", "leases freed because their session was dead"};
inline const MetricDef kSessionsDied{"acl_sessions_died_total", "worker sessions marked dead by this process"};
inline const MetricDef kLeaseLosses{"acl_lease_losses_total", "leases a worker held and lost, or gave up at its margin"};
// By OpenTelemetry's conventions for generative AI, in Prometheus' form.
inline const MetricDef kModelTime{"gen_ai_client_operation_duration_seconds",
                                  "time of one call of a language model with all its attempts, seconds, by provider, model and error",
                                  {0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}};
inline const MetricDef kModelTokens{"gen_ai_client_token_usage",
                                    "tokens of one call of a language model, as its provider counts them, by type: input output",
                                    {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}};
inline const MetricDef kReadyDepth{
    "acl_ready_depth",
    "runs and dispatches that wait for a worker to take them, by queue (beyond 50 without a worker and 200 with one: other)"};
inline const MetricDef kReadyRows{"acl_ready_rows",
                                  "rows of the ready table by queue: those of acl_ready_depth, second ones of the same run, those whose "
                                  "time has not come, and wake-ups of runs that a worker holds"};
inline const MetricDef kReadyUnserved{"acl_ready_unserved",
                                      "runs and dispatches that wait in a queue from which no living worker takes, by queue"};
inline const MetricDef kReadyOldest{"acl_ready_oldest_seconds",
                                    "how long the one that waits longest for a worker has waited, by queue, seconds"};
inline const MetricDef kRunsCreated{"acl_runs_created_total", "runs that this process created; the sum over all processes is the fleet's"};
inline const MetricDef kRunsEnded{"acl_runs_ended_total",
                                  "runs whose end this process committed, by how they ended: completed failed rolled_back cancelled"};
inline const MetricDef kOutboxOldest{"acl_outbox_oldest_seconds", "how long the oldest unsent message has waited in the outbox, seconds"};
inline const MetricDef kDeliveries{"acl_deliveries_total", "attempts to send messages to the outside by outcome: delivered failed dead"};
inline const MetricDef kDeliveriesNow{"acl_deliveries", "messages to the outside by state: pending, or dead (at most 10000 are counted)"};
inline const MetricDef kDeliveriesOldest{"acl_deliveries_oldest_seconds",
                                         "how long the oldest message to the outside that is not delivered has waited, seconds"};
inline const MetricDef kSuspects{
    "acl_suspects",
    "runs and dispatches that died with two workers or more without progress, by state: waiting for a worker of their own, or held"};
inline const MetricDef kSteps{"acl_steps_total", "attempts of steps by outcome"};
inline const MetricDef kStepTime{
    "acl_step_seconds", "time of one attempt by capability, seconds", {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300}};
inline const MetricDef kClaims{"acl_claims_total", "subjects claimed"};
inline const MetricDef kStickyClaims{"acl_claims_sticky_total", "of them, those whose state was still in memory: nothing was restored"};
inline const MetricDef kLeasesHeld{"acl_leases_held", "leases this worker holds now"};
inline const MetricDef kSlots{"acl_slots", "steps this worker can run at once; 0 while it takes no new work"};
inline const MetricDef kSlotsBusy{"acl_slots_busy", "steps this worker runs now"};
inline const MetricDef kQuarantines{"acl_quarantines_total", "subjects quarantined by this process, by reason"};
inline const MetricDef kDispatches{
    "acl_dispatches_total",
    "dispatches (steps sent to another queue) by what became of them: taken delivered refused (a worker's), lost withdrawn (a reaper's)"};
inline const MetricDef kTimersFired{"acl_timers_fired_total", "timers turned into inbox rows"};
inline const MetricDef kScheduleFires{"acl_schedule_fires_total",
                                      "fire times of schedules by outcome: started skipped_overlap missed failed"};
inline const MetricDef kScheduleLag{"acl_schedule_lag_seconds", "how late the last run that a schedule started was started, seconds"};
inline const MetricDef kJobHeld{"acl_job_held", "1 if this process holds the job, by loop"};
inline const MetricDef kJobTicks{"acl_job_ticks_total", "turns of a job that went through in this process, by loop"};
inline const MetricDef kDatabaseUp{"acl_database_up", "1 if the last call to the database went through"};
inline const MetricDef kHttpRequests{"acl_http_requests_total", "requests by route, method and status"};
inline const MetricDef kHttpTime{"acl_http_request_seconds",
                                 "time from the last byte of a request to the answer, by route, seconds",
                                 {0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}};
inline const MetricDef kHttpConnections{"acl_http_connections", "open connections"};
inline const MetricDef kDoorbellPeers{"acl_doorbell_peers", "workers connected to this coordinator's doorbell"};
inline const MetricDef kDoorbellHints{"acl_doorbell_hints_total", "hints by kind and whether they were sent or dropped"};
inline const MetricDef kObjectRequests{"acl_object_store_requests_total",
                                       "requests to the object store by operation and outcome: ok missing refused busy timeout lost"};
inline const MetricDef kObjectTime{"acl_object_store_request_seconds",
                                   "time of one try of a request to the object store by operation, seconds",
                                   {0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}};
inline const MetricDef kObjectBytes{"acl_object_store_bytes_total", "bytes of objects and answers, sent and received"};
inline const MetricDef kObjectRetries{"acl_object_store_retries_total", "requests to the object store that were tried again"};
inline const MetricDef kTraceSpans{"acl_trace_spans_total",
                                   "spans by what became of them: exported, dropped (queue full), refused, failed (collector away)"};
inline const MetricDef kQueueMessages{"acl_queue_messages_total", "messages of the queue by outcome: claimed dropped not_for_us poison"};
inline const MetricDef kQueueLate{"acl_queue_late_claims_total",
                                  "subjects claimed by looking, because no message came for their ready row in time"};
inline const MetricDef kQueueWaiting{"acl_queue_messages_waiting", "messages read and not claimed yet"};
inline const MetricDef kQueueLag{"acl_queue_consumer_lag", "messages in this worker's partitions behind its committed place"};
inline const MetricDef kRelaySent{"acl_relay_messages_total", "messages of the relay by outcome: sent again failed"};
inline const MetricDef kRelayHinted{"acl_relay_hinted_total",
                                    "messages of the relay for rows that whoever made them ready told of, so that no look was needed"};
inline const MetricDef kRelayOut{"acl_relay_rows_out", "ready rows sent and not seen claimed yet, by shard"};
inline const MetricDef kContentsCollected{"acl_contents_collected_total",
                                          "contents that no run referred to, and their objects, by kind: content object"};
inline const MetricDef kJournalsDropped{"acl_journals_dropped_total", "journals that were older than journal_retention_days"};
inline const MetricDef kBuildInfo{"acl_build_info", "always 1; version, commit and component as labels"};

// -- of the process, by the names that Prometheus' client libraries have for them
inline const MetricDef kProcessCpu{"process_cpu_seconds_total", "CPU time of the process, user and system, seconds"};
inline const MetricDef kProcessResident{"process_resident_memory_bytes", "memory of the process that is resident, bytes"};
inline const MetricDef kProcessVirtual{"process_virtual_memory_bytes", "address space of the process, bytes"};
inline const MetricDef kProcessFds{"process_open_fds", "open file descriptors of the process"};
inline const MetricDef kProcessMaxFds{"process_max_fds", "the most file descriptors that it may have open"};
inline const MetricDef kProcessThreads{"process_threads", "threads of the process"};
inline const MetricDef kProcessStart{"process_start_time_seconds", "when the process started, seconds since 1970-01-01"};

// All of the above, for docs/reference/metrics.md and its test.
inline std::vector<const MetricDef*> All() {
  return {&kRestoreTime,
          &kEventsReplayed,
          &kTimeSinceSnapshot,
          &kJournalSinceSnapshot,
          &kLeaseAcquisitionFailures,
          &kIdempotencyHits,
          &kCommits,
          &kCommitBatch,
          &kCommitTime,
          &kFenceRefusals,
          &kReaps,
          &kSessionsDied,
          &kLeaseLosses,
          &kModelTime,
          &kModelTokens,
          &kReadyDepth,
          &kReadyRows,
          &kReadyUnserved,
          &kReadyOldest,
          &kRunsCreated,
          &kRunsEnded,
          &kOutboxOldest,
          &kDeliveries,
          &kDeliveriesNow,
          &kDeliveriesOldest,
          &kSuspects,
          &kSteps,
          &kStepTime,
          &kClaims,
          &kStickyClaims,
          &kLeasesHeld,
          &kSlots,
          &kSlotsBusy,
          &kQuarantines,
          &kDispatches,
          &kTimersFired,
          &kScheduleFires,
          &kScheduleLag,
          &kJobHeld,
          &kJobTicks,
          &kDatabaseUp,
          &kHttpRequests,
          &kHttpTime,
          &kHttpConnections,
          &kDoorbellPeers,
          &kDoorbellHints,
          &kObjectRequests,
          &kObjectTime,
          &kObjectBytes,
          &kObjectRetries,
          &kTraceSpans,
          &kQueueMessages,
          &kQueueLate,
          &kQueueWaiting,
          &kQueueLag,
          &kRelaySent,
          &kRelayHinted,
          &kRelayOut,
          &kContentsCollected,
          &kJournalsDropped,
          &kBuildInfo,
          &kProcessCpu,
          &kProcessResident,
          &kProcessVirtual,
          &kProcessFds,
          &kProcessMaxFds,
          &kProcessThreads,
          &kProcessStart};
}

}  // namespace acl::names
