-- Locks the ready rows of the suspects that this session may have now, the worst first. Every claim asks it; it is usually one look at an
-- empty partial index.
CREATE OR REPLACE FUNCTION pick_suspects(p_session uuid, p_queues text[], p_max int, p_version int, p_kinds text[], p_until timestamptz, p_dispatches int, OUT place tid[], OUT id uuid[], OUT dispatch boolean[])
LANGUAGE plpgsql VOLATILE SET enable_sort = off SET enable_seqscan = off AS $$
DECLARE
  v_worst int;
  v_most int;
BEGIN
  place := '{}';
  id := '{}';
  dispatch := '{}';
  SELECT r.deaths INTO v_worst FROM ready r
    WHERE r.deaths > 0 AND r.queue = ANY (p_queues) AND r.ready_at <= p_until AND r.required_version <= p_version
      AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
    ORDER BY r.deaths DESC LIMIT 1;
  IF v_worst IS NULL THEN
    RETURN;
  END IF;
  v_most := least(suspects_admitted(p_session, v_worst), p_max);
  IF v_most <= 0 THEN
    RETURN;
  END IF;
  SELECT coalesce(array_agg(k.place), '{}'), coalesce(array_agg(k.id), '{}'), coalesce(array_agg(k.dispatch), '{}') INTO place, id, dispatch
    FROM (SELECT p.*, row_number() OVER (PARTITION BY p.dispatch ORDER BY p.deaths DESC, p.ready_at, p.id) AS n
          FROM (SELECT r.ctid AS place, r.subject_id AS id, r.kind = 'dispatch' AS dispatch, r.deaths, r.ready_at FROM ready r
                WHERE r.deaths > 0 AND r.queue = ANY (p_queues) AND r.ready_at <= p_until AND r.required_version <= p_version
                  AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
                ORDER BY r.deaths DESC, r.ready_at, r.subject_id LIMIT v_most FOR UPDATE OF r SKIP LOCKED) p) k
    WHERE NOT k.dispatch OR k.n <= p_dispatches;
END $$;
