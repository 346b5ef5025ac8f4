-- How long runs were without a holder when a worker's session ran out: from the session's last heartbeat to the next grant of each lease that was
-- taken from it (its token grew by the reap and by the grant), by the database's times. Without those that waited on purpose, from the second
-- takeover without progress on. Milliseconds: takeovers, those within the lease's time to live + 500 ms, median, 99th percentile, longest, time to
-- live + 500 ms.
SELECT count(*), count(*) FILTER (WHERE t.took <= t.ttl + 500), coalesce(round(percentile_cont(0.5) WITHIN GROUP (ORDER BY t.took)), 0),
       coalesce(round(percentile_cont(0.99) WITHIN GROUP (ORDER BY t.took)), 0), coalesce(round(max(t.took)), 0), coalesce(round(max(t.ttl)), 0) + 500
FROM (SELECT extract(epoch FROM n.granted_at - s.heartbeat_at) * 1000 AS took, extract(epoch FROM s.expires_at - s.heartbeat_at) * 1000 AS ttl
      FROM worker_sessions s JOIN lease_history h ON h.session_id = s.session_id
      CROSS JOIN LATERAL (SELECT * FROM lease_history x WHERE x.subject_id = h.subject_id AND x.token > h.token ORDER BY x.token LIMIT 1) n
      WHERE s.dead_at >= s.expires_at AND n.token >= h.token + 2 AND n.session_id IS NOT NULL AND n.takeovers_without_progress < 2) t
