-- migrate:up
-- What has begun goes first (DESIGN.md section 4): takeovers, timers, signals, retries, results and dispatched steps stand before runs that have not begun, priority by priority.
-- One look in four takes new runs first, so they have a quarter of the places while both wait. A row is of a run that has begun unless whoever creates the run says
-- otherwise: programs of before, which do not know the column, mix their new runs with what has begun, as all was mixed before.
SET LOCAL ROLE acl_owner;

ALTER TABLE ready ADD COLUMN begun boolean NOT NULL DEFAULT false;  -- what waits already keeps its order
ALTER TABLE ready ALTER COLUMN begun SET DEFAULT true;
-- By priority and shard as one number: no other index gives this order, so no plan, whatever it was made on, goes through the rows of what has not begun.
CREATE INDEX ready_begun ON ready (queue, (priority * 4 + shard), ready_at, subject_id) WHERE begun;

-- Whether a look at these queues would find something that has begun, ready at `p_until`. By the key of each queue.
CREATE FUNCTION begun_waits(p_queues text[], p_until timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN EXISTS (SELECT FROM unnest(p_queues) AS q(queue)
                 CROSS JOIN LATERAL (SELECT 1 FROM ready r WHERE r.begun AND r.deaths = 0 AND r.queue = q.queue AND r.ready_at <= p_until
                                     ORDER BY r.priority * 4 + r.shard, r.ready_at, r.subject_id LIMIT 1) w);
END $$;

-- As pick_places in 0161 (suspects are passed by); what has begun and what has not are lanes of their own, in the order that `p_begun` says.
CREATE FUNCTION pick_lanes(p_begun boolean[], p_queues text[], p_max int, p_version int, p_kinds text[], p_until timestamptz, p_dispatches int, p_without uuid[],
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

CREATE OR REPLACE FUNCTION pick_places(p_queues text[], p_max int, p_version int, p_kinds text[], p_until timestamptz, p_dispatches int, p_without uuid[], OUT place tid[], OUT id uuid[], OUT dispatch boolean[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_begun boolean[] := CASE WHEN NOT begun_waits(p_queues, p_until) THEN ARRAY[false] WHEN random() < 0.25 THEN ARRAY[false, true] ELSE ARRAY[true, false] END;
BEGIN
  SELECT p.place, p.id, p.dispatch INTO place, id, dispatch FROM pick_lanes(v_begun, p_queues, p_max, p_version, p_kinds, p_until, p_dispatches, p_without) p;
END $$;

-- What has begun and nothing else. The driver that is told by messages asks so: a message stands behind all that were sent before it.
CREATE FUNCTION grant_begun(p_session uuid, p_queues text[], p_max int, p_version int, p_kinds text[], p_min_age_ms bigint, p_dispatches int)
RETURNS granted LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_picked record;
BEGIN
  PERFORM lock_live_session(p_session);
  SELECT p.place, p.id, p.dispatch INTO v_picked
    FROM pick_lanes(ARRAY[true], p_queues, p_max, p_version, p_kinds, clock_timestamp() - p_min_age_ms * interval '1 millisecond', p_dispatches, '{}') p;
  IF cardinality(v_picked.id) > p_max THEN
    RAISE EXCEPTION 'claimed % ready rows for a limit of %', cardinality(v_picked.id), p_max USING ERRCODE = 'AC006';
  END IF;
  RETURN grant_rows(p_session, v_picked.place, v_picked.id, v_picked.dispatch, NULL);
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
