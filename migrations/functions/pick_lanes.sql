-- Locks up to p_max ready rows that are no suspects, priority by priority, in the order of p_begun: runs that have begun and new runs are
-- lanes of their own. Rows of dispatches beyond p_dispatches, and rows of p_without, are left.
CREATE OR REPLACE FUNCTION pick_lanes(p_begun boolean[], p_queues text[], p_max int, p_version int, p_kinds text[], p_until timestamptz, p_dispatches int, p_without uuid[],
                           OUT place tid[], OUT id uuid[], OUT dispatch boolean[])
LANGUAGE plpgsql VOLATILE SET enable_sort = off AS $$
BEGIN
  WITH lane AS MATERIALIZED (
    SELECT b.priority, l.begun, q.queue, (f.first + s.shard) % 4 AS shard
    FROM (SELECT floor(random() * 4)::int AS first) f, generate_series(0, 3) AS b(priority), unnest(p_begun) WITH ORDINALITY AS l(begun, n),
         unnest(p_queues) WITH ORDINALITY AS q(queue, n), generate_series(0, 3) AS s(shard)
    ORDER BY b.priority, l.n, q.n, s.shard),
  picked AS MATERIALIZED (
    SELECT p.* FROM lane CROSS JOIN LATERAL (
      SELECT * FROM (
        SELECT r.ctid AS place, r.subject_id AS id, r.kind = 'dispatch' AS dispatch, r.priority, r.ready_at FROM ready r
        WHERE lane.begun AND r.begun AND r.queue = lane.queue AND r.priority * 4 + r.shard = lane.priority * 4 + lane.shard AND r.ready_at <= p_until
          AND r.required_version <= p_version
          AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
          AND NOT r.subject_id = ANY (p_without) AND r.deaths = 0
        ORDER BY r.ready_at, r.subject_id LIMIT p_max FOR UPDATE OF r SKIP LOCKED) begun
      UNION ALL
      SELECT * FROM (
        SELECT r.ctid AS place, r.subject_id AS id, r.kind = 'dispatch' AS dispatch, r.priority, r.ready_at FROM ready r
        WHERE NOT lane.begun AND NOT r.begun AND r.queue = lane.queue AND r.priority = lane.priority AND r.shard = lane.shard AND r.ready_at <= p_until
          AND r.required_version <= p_version AND (cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds)) AND NOT r.subject_id = ANY (p_without) AND r.deaths = 0
        ORDER BY r.ready_at, r.subject_id LIMIT p_max FOR UPDATE OF r SKIP LOCKED) new) p
    LIMIT p_max),
  -- Dispatches beyond the room for them stay where they are.
  counted AS (SELECT p.*, row_number() OVER (PARTITION BY p.dispatch ORDER BY p.priority, p.ready_at, p.id) AS n FROM picked p)
  SELECT coalesce(array_agg(k.place), '{}'), coalesce(array_agg(k.id), '{}'), coalesce(array_agg(k.dispatch), '{}') INTO place, id, dispatch
    FROM counted k WHERE NOT k.dispatch OR k.n <= p_dispatches;
END $$;
