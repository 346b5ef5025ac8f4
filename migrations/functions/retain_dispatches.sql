-- Removes one bounded batch of dispatches that ended p_keep_ms ago, whose result is no unread input, and whose subject is closed, or whose
-- step completed or was offered again since. The last row of an open step stays, because the token of its next attempt grows from it.
CREATE OR REPLACE FUNCTION retain_dispatches(p_keep_ms bigint, p_max int) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_dispatches bigint;
BEGIN
  WITH d AS MATERIALIZED (
    SELECT t.dispatch_id, t.queue, t.priority FROM dispatches t
    WHERE t.ended_at < clock_timestamp() - p_keep_ms * interval '1 millisecond'
      AND NOT EXISTS (SELECT FROM inbox i WHERE i.subject_id = t.subject_id AND i.inbox_id = t.dispatch_id)
      AND (EXISTS (SELECT FROM leases l WHERE l.subject_id = t.subject_id AND l.state = 1)
           OR EXISTS (SELECT FROM completion_rows c WHERE c.subject_id = t.subject_id AND c.step_id = t.step_id)
           OR EXISTS (SELECT FROM dispatches n WHERE n.subject_id = t.subject_id AND n.step_id = t.step_id AND n.attempt_id > t.attempt_id AND n.token > coalesce(t.token, 0)))
    ORDER BY t.ended_at LIMIT p_max FOR UPDATE OF t SKIP LOCKED),
  unclaimed AS (
    DELETE FROM ready r USING d WHERE r.kind = 'dispatch' AND r.queue = d.queue AND r.priority = d.priority AND r.shard = ready_shard(d.dispatch_id) AND r.subject_id = d.dispatch_id)
  DELETE FROM dispatches t USING d WHERE t.dispatch_id = d.dispatch_id;
  GET DIAGNOSTICS v_dispatches = ROW_COUNT;
  RETURN v_dispatches;
END $$;
