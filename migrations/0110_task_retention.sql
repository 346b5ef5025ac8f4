-- migrate:up
-- Rows of tasks that have ended are removed when nothing needs them any more; and messages of tasks carry their run's trace context.
SET LOCAL ROLE acl_owner;

CREATE INDEX tasks_ended ON tasks (ended_at) WHERE ended_at IS NOT NULL;

-- One bounded batch. Ended so long ago, its end no unread input; and its subject closed, or its step completed, or offered again since: the
-- last row of an open step stays, because the token of its next attempt grows from it. A ready row that nobody claimed (a task that was
-- wanted back before) goes with it.
CREATE FUNCTION retain_tasks(p_keep_ms bigint, p_max int) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_tasks bigint;
BEGIN
  WITH d AS MATERIALIZED (
    SELECT t.task_id, t.queue, t.band FROM tasks t
    WHERE t.ended_at < clock_timestamp() - p_keep_ms * interval '1 millisecond'
      AND NOT EXISTS (SELECT FROM inbox i WHERE i.subject_id = t.subject_id AND i.inbox_id = t.task_id)
      AND (EXISTS (SELECT FROM leases l WHERE l.subject_id = t.subject_id AND l.state = 1)
           OR EXISTS (SELECT FROM completion_rows c WHERE c.subject_id = t.subject_id AND c.step_id = t.step_id)
           OR EXISTS (SELECT FROM tasks n WHERE n.subject_id = t.subject_id AND n.step_id = t.step_id AND n.attempt_id > t.attempt_id AND n.token > coalesce(t.token, 0)))
    ORDER BY t.ended_at LIMIT p_max FOR UPDATE OF t SKIP LOCKED),
  unclaimed AS (
    DELETE FROM ready r USING d WHERE r.kind = 'task' AND r.queue = d.queue AND r.band = d.band AND r.shard = ready_shard(d.task_id) AND r.subject_id = d.task_id)
  DELETE FROM tasks t USING d WHERE t.task_id = d.task_id;
  GET DIAGNOSTICS v_tasks = ROW_COUNT;
  RETURN v_tasks;
END $$;

-- As before (0108); a task's row has the trace context of its subject.
CREATE OR REPLACE FUNCTION due_ready(p_shard int, m_queue text[], m_band int[], m_at timestamptz[], m_subject uuid[], p_max int)
RETURNS TABLE (queue text, band smallint, ready_at timestamptz, subject_id uuid, kind text, required_version int, head_seq bigint, token bigint, db_now timestamptz, traceparent text)
LANGUAGE sql STABLE AS $$
  SELECT d.queue, d.band, d.ready_at, d.subject_id, d.kind, d.required_version, coalesce(h.head_seq, 0), coalesce(l.token, 0), now(), s.traceparent
  FROM ready_lanes() lane
  LEFT JOIN unnest(m_queue, m_band, m_at, m_subject) AS m(queue, band, at, subject) ON m.queue = lane.queue AND m.band = lane.band
  CROSS JOIN LATERAL (
    SELECT r.* FROM ready r
    WHERE r.queue = lane.queue AND r.band = lane.band AND r.shard = p_shard
      AND (r.ready_at, r.subject_id) > (coalesce(m.at, '-infinity'), coalesce(m.subject, '00000000-0000-0000-0000-000000000000'::uuid))
      AND r.ready_at <= now()
    ORDER BY r.ready_at, r.subject_id LIMIT p_max) d
  LEFT JOIN subject_head h ON h.subject_id = d.subject_id LEFT JOIN leases l ON l.subject_id = d.subject_id
  LEFT JOIN tasks t ON d.kind = 'task' AND t.task_id = d.subject_id
  LEFT JOIN subjects s ON s.subject_id = coalesce(t.subject_id, d.subject_id)
$$;

RESET ROLE;
