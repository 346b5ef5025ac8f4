// i15 .. i20, i23, i24, i32, i35, i36: what clients and receivers saw, against the database.
#include "chaos/checkers/question.h"

namespace acl::chaos {
namespace {

using Needs = Question::Needs;

const Question kEffectOnce("i15", "an effect is applied once a key", Needs::kLedger, R"(
SELECT e.key, CASE WHEN count(*) FILTER (WHERE e.outcome = 'applied') > 1 THEN 'applied ' || count(*) FILTER (WHERE e.outcome = 'applied') || ' times'
                   WHEN count(DISTINCT e.payload_hash) > 1 THEN count(DISTINCT e.payload_hash) || ' payloads under one key' END
FROM ledger e WHERE e.key IS NOT NULL GROUP BY e.key)");

const Question kEffectFence("i16", "a receiver that knows a token takes nothing from a lower one", Needs::kLedger, R"(
SELECT e.n::text, CASE WHEN e.token < max(e.token) OVER (PARTITION BY e.run, CASE WHEN e.scope = 'run/step' THEN e.step END ORDER BY e.n
                         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) THEN 'took token ' || e.token || ' after a higher one' END
FROM ledger e WHERE e.outcome <> 'refused' AND e.token IS NOT NULL)");

const Question kAcknowledged("i17", "what was acknowledged is there", Needs::kHistory, R"(
SELECT h.op, CASE WHEN h.f = 'start' AND s.subject_id IS NULL THEN 'run ' || coalesce(h.run, '?') || ' is not there'
                  WHEN h.f = 'result' AND l.status IS DISTINCT FROM h.status THEN 'run ' || coalesce(h.run, '?') || ' is not ' || coalesce(h.status, '?') END
FROM hist h LEFT JOIN subjects s ON s.subject_id = h.run_id LEFT JOIN listings l ON l.subject_id = h.run_id
WHERE h.outcome = 'ok' AND h.f IN ('start', 'result'))");

const Question kPhantom("i18", "nothing is there that nobody asked for", Needs::kHistory, R"(
SELECT k.request_key, CASE WHEN h.key IS NULL THEN 'nobody asked for ' || k.subject_id END
FROM request_keys k LEFT JOIN (SELECT DISTINCT x.key FROM hist x WHERE x.outcome IN ('ok', 'info')) h ON h.key = k.request_key
WHERE starts_with(k.request_key, $key_prefix::text))");

const Question kOnePayload("i19", "one request key takes one payload", Needs::kHistory, R"(
SELECT h.key, CASE WHEN count(DISTINCT h.request_hash) > 1 THEN count(DISTINCT h.request_hash) || ' payloads were accepted' END
FROM hist h WHERE h.key IS NOT NULL AND h.outcome = 'ok' GROUP BY h.project, h.key)");

const Question kOneAnswer("i20", "one request gets one answer", Needs::kHistory, R"(
SELECT h.key, CASE WHEN count(DISTINCT coalesce(h.response_hash, h.run)) > 1 THEN count(DISTINCT coalesce(h.response_hash, h.run)) || ' answers' END
FROM hist h WHERE h.key IS NOT NULL AND h.outcome = 'ok' GROUP BY h.project, h.key, h.request_hash)");

// A signal is known by the mark in its payload, so that two with equal payloads would not be.
const Question kSignals("i23", "an acknowledged signal is there exactly once", Needs::kHistory, R"(
SELECT h.op, CASE WHEN coalesce(s.n, 0) <> 1 AND u.subject_id IS NULL THEN 'there ' || coalesce(s.n, 0) || ' times' END
FROM hist h LEFT JOIN (
  SELECT m.subject_id, m.mark, count(*) AS n FROM (
    SELECT f.subject_id, f.p #>> '{payload,mark}' AS mark FROM fact f WHERE f.type = 'signal.received'
    UNION ALL SELECT i.subject_id, coalesce(i.payload::json #>> '{payload,mark}', i.payload::json ->> 'mark') FROM inbox i WHERE i.kind = 'signal') m
  GROUP BY m.subject_id, m.mark) s ON s.subject_id = h.run_id AND s.mark = h.mark
LEFT JOIN unreadable u ON u.subject_id = h.run_id
WHERE h.f = 'signal' AND h.outcome = 'ok' AND h.mark IS NOT NULL)");

const Question kFailed("i24", "what definitely failed had no effect", Needs::kHistory, R"(
SELECT h.op, CASE WHEN h.f = 'start' AND k.request_key IS NOT NULL AND NOT coalesce(o.maybe, false) THEN 'its run was made'
                  WHEN h.f = 'signal' AND s.mark IS NOT NULL AND NOT coalesce(m.maybe, false) THEN 'its signal was received' END
FROM hist h LEFT JOIN (SELECT DISTINCT x.request_key FROM request_keys x) k ON k.request_key = h.key
LEFT JOIN (SELECT x.key, bool_or(x.outcome <> 'fail') AS maybe FROM hist x GROUP BY x.key) o ON o.key = h.key
LEFT JOIN (SELECT x.mark, bool_or(x.outcome <> 'fail') AS maybe FROM hist x GROUP BY x.mark) m ON m.mark = h.mark
LEFT JOIN (SELECT DISTINCT f.subject_id, f.p #>> '{payload,mark}' AS mark FROM fact f WHERE f.type = 'signal.received') s
  ON s.subject_id = h.run_id AND s.mark = h.mark
WHERE h.outcome = 'fail')");

const Question kTenants("i32", "nobody sees another project's runs", Needs::kHistory, R"(
SELECT h.op, CASE WHEN bool_or(s.project_id::text <> h.project) THEN 'it saw a run of another project' END
FROM hist h LEFT JOIN LATERAL json_array_elements_text(h.saw) r ON true LEFT JOIN subjects s ON s.subject_id = r.value::uuid
WHERE h.saw IS NOT NULL AND h.project IS NOT NULL GROUP BY h.op)");

// Whoever comes for the first time after the faults (to ask again for what a failover lost) need not do five things.
const Question kProgress("i35", "there is progress during faults and after them", Needs::kHistory, R"(
SELECT 'during the faults', CASE WHEN count(*) FILTER (WHERE h.outcome = 'ok') < $min_ok::bigint THEN count(*) FILTER (WHERE h.outcome = 'ok') || ' done' END
FROM hist h WHERE h.phase = 'faults' HAVING count(*) > 0
UNION ALL
SELECT 'after them', CASE WHEN count(*) FILTER (WHERE h.outcome = 'ok') < 0.95 * count(*) THEN count(*) FILTER (WHERE h.outcome = 'ok') || ' of ' || count(*) || ' done' END
FROM hist h WHERE h.phase = 'healed' HAVING count(*) > 0
UNION ALL
SELECT 'process ' || p.process, CASE WHEN p.healed AND p.before AND p.done < 5 THEN 'fewer than five done after the faults' END
FROM (SELECT x.process, bool_or(bool_or(x.phase = 'healed')) OVER () AS healed, bool_or(x.phase IS DISTINCT FROM 'healed') AS before, count(*) FILTER (WHERE x.phase = 'healed' AND x.outcome = 'ok') AS done
      FROM hist x GROUP BY x.process) p)");

const Question kRetries("i36", "tries stay within the budget of retries", Needs::kHistory, R"(
SELECT coalesce(h.target, '') || ' from second ' || h.at_ms / 10000 * 10,
       CASE WHEN count(*) > greatest($retry_permille::bigint * count(*) FILTER (WHERE coalesce(h.try, 1) = 1) / 1000, 10)
            THEN count(*) || ' tries for ' || count(*) FILTER (WHERE coalesce(h.try, 1) = 1) || ' operations' END
FROM hist h WHERE h.at_ms IS NOT NULL GROUP BY h.target, h.at_ms / 10000)");

const Question* const kSeen[] = {&kEffectOnce, &kEffectFence, &kAcknowledged, &kPhantom,  &kOnePayload, &kOneAnswer,
                                 &kSignals,    &kFailed,      &kTenants,      &kProgress, &kRetries};

}  // namespace

std::span<const Question* const> HistoryQuestions() { return kSeen; }

}  // namespace acl::chaos
