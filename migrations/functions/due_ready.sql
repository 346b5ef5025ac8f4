-- Ready rows that are due, of several shards in one question, for the relay: in the order of their key, at most p_max of each queue,
-- priority and shard, from behind the mark given for that lane. Each row carries the head and the token as hints for the message, and the
-- trace context (of a dispatch, that of its subject). Scalar subqueries instead of joins: whatever the plan was made on, each is one look
-- at a key.
CREATE OR REPLACE FUNCTION due_ready(p_shard int[], m_shard int[], m_queue text[], m_priority int[], m_at timestamptz[], m_subject uuid[], p_max int)
RETURNS TABLE (queue text, priority smallint, ready_at timestamptz, subject_id uuid, kind text, required_version int, head_seq bigint, token bigint, db_now timestamptz, traceparent text, shard int)
LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    SELECT d.queue, d.priority, d.ready_at, d.subject_id, d.kind, d.required_version,
           coalesce((SELECT h.head_seq FROM subject_head h WHERE h.subject_id = d.subject_id), 0),
           coalesce((SELECT l.token FROM leases l WHERE l.subject_id = d.subject_id), 0), now(),
           (SELECT s.traceparent FROM subjects s
            WHERE s.subject_id = coalesce((SELECT t.subject_id FROM dispatches t WHERE d.kind = 'dispatch' AND t.dispatch_id = d.subject_id), d.subject_id)),
           p.shard
    FROM ready_lanes() lane CROSS JOIN unnest(p_shard) AS p(shard)
    LEFT JOIN unnest(m_shard, m_queue, m_priority, m_at, m_subject) AS m(shard, queue, priority, at, subject)
      ON m.shard = p.shard AND m.queue = lane.queue AND m.priority = lane.priority
    CROSS JOIN LATERAL (
      SELECT r.* FROM ready r
      WHERE r.queue = lane.queue AND r.priority = lane.priority AND r.shard = p.shard
        AND (r.ready_at, r.subject_id) > (coalesce(m.at, '-infinity'), coalesce(m.subject, '00000000-0000-0000-0000-000000000000'::uuid))
        AND r.ready_at <= now()
      ORDER BY r.ready_at, r.subject_id LIMIT p_max) d;
END $$;
