-- migrate:up
-- Rows of tasks that have ended are removed when nothing needs them any more.
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

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
