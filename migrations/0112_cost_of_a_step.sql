-- migrate:up
-- What a step and a run cost (docs/performance.md). The claim with fewer statements: all lanes in one look, token and history in one, what is rare only when it is
-- there. The rules are those of 0108.
SET LOCAL ROLE acl_owner;

CREATE OR REPLACE FUNCTION grant_ready(p_session uuid, p_ready ready[])
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_wanted uuid[];            -- subjects among the rows
  v_locked uuid[];            -- leases we have, in ascending order
  v_open uuid[];              -- of them, free and open
  v_tokens bigint[];
  v_without_progress int[];
  v_heads bigint[];
  v_poison uuid[] := '{}';
  v_wanted_dispatches uuid[];
  v_dispatches uuid[] := '{}';     -- dispatch rows we have
  v_dispatch_tokens bigint[];
  v_taken uuid[] := '{}';     -- of them, granted
  v_now timestamptz := clock_timestamp();
BEGIN
  SELECT array_agg(DISTINCT r.subject_id) FILTER (WHERE r.kind <> 'dispatch'), array_agg(r.subject_id) FILTER (WHERE r.kind = 'dispatch')
    INTO v_wanted, v_wanted_dispatches FROM unnest(p_ready) r;
  SELECT coalesce(array_agg(l.subject_id), '{}'), coalesce(array_agg(l.subject_id) FILTER (WHERE l.session_id IS NULL AND l.state = 0), '{}')
    INTO v_locked, v_open
    FROM (SELECT x.subject_id, x.session_id, x.state FROM leases x
          WHERE x.subject_id = ANY (v_wanted) ORDER BY x.subject_id FOR UPDATE SKIP LOCKED) l;
  -- hold: claim_leases_locked

  -- Takeovers without progress: the head of now against the head at the last grant.
  SELECT array_agg(p.id ORDER BY p.id), array_agg(h.head_seq ORDER BY p.id),
         array_agg(CASE WHEN g.head_seq IS DISTINCT FROM h.head_seq OR l.last_end = 0 THEN 0 WHEN l.last_end = 1 THEN g.takeovers_without_progress + 1 ELSE g.takeovers_without_progress END ORDER BY p.id),
         mint_tokens(array_agg(l.token ORDER BY p.id))
    INTO v_open, v_heads, v_without_progress, v_tokens
    FROM unnest(v_open) AS p(id) JOIN leases l ON l.subject_id = p.id JOIN subject_head h ON h.subject_id = p.id
    LEFT JOIN LATERAL (SELECT * FROM lease_history x WHERE x.subject_id = p.id ORDER BY x.token DESC LIMIT 1) g ON true;
  v_open := coalesce(v_open, '{}');

  IF 5 <= ANY (v_without_progress) THEN
    WITH bad AS (SELECT v_open[n] AS id, v_without_progress[n] AS takeovers_without_progress, v_heads[n] AS head FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] >= 5),
    closed AS (UPDATE leases l SET state = 2, waiting_reason = NULL, waiting_since = NULL, next_wake = NULL FROM bad WHERE l.subject_id = bad.id RETURNING l.subject_id),
    told AS (INSERT INTO quarantine (subject_id, reason, detail, at)
      SELECT id, 'takeovers_without_progress', format('%s workers in a row died holding it and the journal stayed at event %s: it may be what kills them', takeovers_without_progress, head), v_now FROM bad
      RETURNING subject_id)
    SELECT coalesce(array_agg(c.subject_id), '{}') INTO v_poison FROM closed c;
  END IF;

  WITH given AS (SELECT v_open[n] AS id, v_tokens[n] AS token, v_heads[n] AS head, v_without_progress[n] AS takeovers_without_progress FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5),
  raised AS (
    UPDATE leases l SET token = g.token, session_id = p_session, acquired_at = v_now, last_end = 0, not_before = NULL, waiting_reason = NULL,
                        waiting_since = NULL, next_wake = NULL
      FROM given g WHERE l.subject_id = g.id)
  INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, granted_at) SELECT g.id, g.token, p_session, g.head, g.takeovers_without_progress, v_now FROM given g;

  -- Dispatches behind the leases, in the order of locks. Their ends have the lease and wait for the dispatch, so nothing here waits for one. The token
  -- grows over the attempts of a step.
  IF cardinality(v_wanted_dispatches) > 0 THEN
    SELECT coalesce(array_agg(t.dispatch_id ORDER BY t.dispatch_id), '{}'), mint_tokens(array_agg(t.before ORDER BY t.dispatch_id)) INTO v_dispatches, v_dispatch_tokens
      FROM (SELECT x.dispatch_id, (SELECT coalesce(max(o.token), 0) FROM dispatches o WHERE o.subject_id = x.subject_id AND o.step_id = x.step_id) AS before
            FROM dispatches x WHERE x.dispatch_id = ANY (v_wanted_dispatches) ORDER BY x.dispatch_id FOR UPDATE OF x SKIP LOCKED) t;
    -- hold: claim_dispatches_locked
    WITH taken AS (
      UPDATE dispatches t SET state = 'started', token = v_dispatch_tokens[n], session_id = p_session, started_at = v_now
        FROM generate_subscripts(v_dispatches, 1) n WHERE t.dispatch_id = v_dispatches[n] AND t.state = 'queued' AND NOT t.cancel_requested RETURNING t.dispatch_id)
    SELECT coalesce(array_agg(k.dispatch_id), '{}') INTO v_taken FROM taken k;
  END IF;

  -- A dispatch that is no more: the scalar subquery has no hashed form, which would read the whole table.
  DELETE FROM ready r USING unnest(p_ready) d
    WHERE r.queue = d.queue AND r.priority = d.priority AND r.shard = d.shard AND r.ready_at = d.ready_at AND r.subject_id = d.subject_id
      AND (d.subject_id = ANY (v_locked) OR d.subject_id = ANY (v_dispatches)
           OR d.kind = 'dispatch' AND (SELECT t.dispatch_id FROM dispatches t WHERE t.dispatch_id = d.subject_id) IS NULL);
  -- hold: claim_token_raised

  RETURN QUERY
    SELECT 0, NULL::uuid, (SELECT count(*) FROM unnest(p_ready) d WHERE d.subject_id = ANY (v_locked) AND NOT d.subject_id = ANY (v_open)) + cardinality(v_dispatches) - cardinality(v_taken),
           cardinality(v_poison)::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text, NULL::bytea, NULL::bytea,
           NULL::bytea, v_now
    UNION ALL
    SELECT 7, v_open[n], v_without_progress[n]::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text,
           NULL::bytea, NULL::bytea, NULL::bytea, v_now
      FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;
  IF cardinality(v_taken) > 0 THEN
    RETURN QUERY SELECT 8, t.subject_id, t.attempt_id::bigint, t.priority::bigint, t.token, NULL::bigint, t.dispatch_id, s.project_id, t.step_id,
                        t.queue || E'\n' || t.payload, NULL::bytea, NULL::bytea, NULL::bytea, t.deadline
      FROM dispatches t JOIN subjects s ON s.subject_id = t.subject_id WHERE t.dispatch_id = ANY (v_taken) ORDER BY t.created_at, t.dispatch_id;
  END IF;
  IF cardinality(v_open) > cardinality(v_poison) THEN
    RETURN QUERY SELECT * FROM read_subjects(ARRAY(SELECT v_open[n] FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5 ORDER BY n));
  END IF;
END $$;

-- Ready rows to grant, locked: first priority first, the queues in the order they are named, the shards from a random one on. The lanes are looked at
-- one after the other and only until there are enough. At most p_dispatches of the rows are dispatches'; p_without: these are locked by us already.
CREATE FUNCTION pick_ready(p_queues text[], p_max int, p_version int, p_kinds text[], p_until timestamptz, p_dispatches int, p_without uuid[])
RETURNS ready[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_ready ready[];
BEGIN
  WITH lane AS MATERIALIZED (
    SELECT b.priority, q.queue, (f.first + s.shard) % 4 AS shard
    FROM (SELECT floor(random() * 4)::int AS first) f, generate_series(0, 3) AS b(priority), unnest(p_queues) WITH ORDINALITY AS q(queue, n), generate_series(0, 3) AS s(shard)
    ORDER BY b.priority, q.n, s.shard),
  picked AS MATERIALIZED (
    SELECT p.row FROM lane CROSS JOIN LATERAL (
      SELECT r AS row FROM ready r
      WHERE r.queue = lane.queue AND r.priority = lane.priority AND r.shard = lane.shard AND r.ready_at <= p_until AND r.required_version <= p_version
        AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
        AND NOT r.subject_id = ANY (p_without)
      ORDER BY r.ready_at, r.subject_id LIMIT p_max FOR UPDATE OF r SKIP LOCKED) p
    LIMIT p_max),
  -- Dispatches beyond the room for them stay where they are.
  counted AS (SELECT p.row, row_number() OVER (PARTITION BY (p.row).kind = 'dispatch' ORDER BY (p.row).priority, (p.row).ready_at, (p.row).subject_id) AS n FROM picked p)
  SELECT coalesce(array_agg(k.row) FILTER (WHERE (k.row).kind <> 'dispatch' OR k.n <= p_dispatches), '{}') INTO v_ready FROM counted k;
  RETURN v_ready;
END $$;

CREATE OR REPLACE FUNCTION claim_subjects(p_session uuid, p_queues text[], p_max int, p_version int, p_kinds text[], p_min_age_ms bigint DEFAULT 0, p_dispatches int DEFAULT 0)
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - p_min_age_ms * interval '1 millisecond';
  v_ready ready[];
BEGIN
  PERFORM lock_live_session(p_session);
  v_ready := pick_ready(p_queues, p_max, p_version, p_kinds, v_until, p_dispatches, '{}');
  -- Dispatches for which there is no room may have stood before others.
  IF p_dispatches > 0 AND cardinality(v_ready) < p_max AND p_dispatches <= (SELECT count(*) FROM unnest(v_ready) r WHERE r.kind = 'dispatch') THEN
    v_ready := v_ready || pick_ready(p_queues, p_max - cardinality(v_ready), p_version, p_kinds, v_until, 0, ARRAY(SELECT r.subject_id FROM unnest(v_ready) r));
  END IF;
  IF cardinality(v_ready) > p_max THEN
    RAISE EXCEPTION 'claimed % ready rows for a limit of %', cardinality(v_ready), p_max USING ERRCODE = 'AC006';
  END IF;
  -- hold: claim_ready_locked
  RETURN QUERY SELECT * FROM grant_ready(p_session, v_ready);
END $$;

-- The promise of a step stands with the event before it (`also`, docs/events.md): whose inputs they are is said by the path of the operation.
CREATE OR REPLACE VIEW step_inputs AS
SELECT e.subject_id, replace(replace(substr(split_part(op ->> 'path', '/', 2), 6), '~1', '/'), '~0', '~') AS step_id,
       min(coalesce(op #>> '{value,call,inputs}', op #>> '{value,inputs}')) AS inputs
FROM event_rows e, json_array_elements(e.payload::json -> 'state_delta') op
WHERE e.type IN ('step.started', 'step.dispatched', 'step.completed', 'workflow.started')
  AND (op ->> 'path' ~ '^/step:[^/]*$' AND op #> '{value,call,inputs}' IS NOT NULL OR op ->> 'path' ~ '^/step:[^/]*/call$' AND op #> '{value,inputs}' IS NOT NULL)
GROUP BY e.subject_id, split_part(op ->> 'path', '/', 2);

-- As in 0108, whatever the tables held when the plan was made: a join could read a whole index, a scalar subquery cannot.
CREATE OR REPLACE FUNCTION due_ready(p_shard int, m_queue text[], m_priority int[], m_at timestamptz[], m_subject uuid[], p_max int)
RETURNS TABLE (queue text, priority smallint, ready_at timestamptz, subject_id uuid, kind text, required_version int, head_seq bigint, token bigint, db_now timestamptz, traceparent text)
LANGUAGE sql STABLE AS $$
  SELECT d.queue, d.priority, d.ready_at, d.subject_id, d.kind, d.required_version,
         coalesce((SELECT h.head_seq FROM subject_head h WHERE h.subject_id = d.subject_id), 0),
         coalesce((SELECT l.token FROM leases l WHERE l.subject_id = d.subject_id), 0), now(),
         (SELECT s.traceparent FROM subjects s
          WHERE s.subject_id = coalesce((SELECT t.subject_id FROM dispatches t WHERE d.kind = 'dispatch' AND t.dispatch_id = d.subject_id), d.subject_id))
  FROM ready_lanes() lane
  LEFT JOIN unnest(m_queue, m_priority, m_at, m_subject) AS m(queue, priority, at, subject) ON m.queue = lane.queue AND m.priority = lane.priority
  CROSS JOIN LATERAL (
    SELECT r.* FROM ready r
    WHERE r.queue = lane.queue AND r.priority = lane.priority AND r.shard = p_shard
      AND (r.ready_at, r.subject_id) > (coalesce(m.at, '-infinity'), coalesce(m.subject, '00000000-0000-0000-0000-000000000000'::uuid))
      AND r.ready_at <= now()
    ORDER BY r.ready_at, r.subject_id LIMIT p_max) d
$$;

-- Texts that compress well are compressed from 256 bytes on, in their row: half of the WAL of a step was its JSON. LZ4 where the server has it.
ALTER TABLE event_rows ALTER COLUMN payload SET STORAGE MAIN, SET (toast_tuple_target = 256);
ALTER TABLE listings ALTER COLUMN definition_text SET STORAGE MAIN, SET (toast_tuple_target = 256);
DO $$ BEGIN
  ALTER TABLE event_rows ALTER COLUMN payload SET COMPRESSION lz4;
  ALTER TABLE listings ALTER COLUMN definition_text SET COMPRESSION lz4;
  ALTER TABLE snapshot_rows ALTER COLUMN inline_state SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  RAISE NOTICE 'this PostgreSQL was built without LZ4: payloads are compressed by pglz';
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
