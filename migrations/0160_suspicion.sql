-- migrate:up
-- Suspicion (DESIGN.md section 4; shared/kernel/suspicion.h says the same in C++): which run or dispatch is to blame when a worker dies. This part: what is
-- kept, the decisions, and the reap. Programs of before ask through the same functions, so the rules hold for their workers too.
SET LOCAL ROLE acl_owner;

-- squawk-ignore-file adding-field-with-default, constraint-missing-not-valid, require-concurrent-index-creation
-- Of the holding: takeovers in a row without a completed step (`lease_history.takeovers_without_progress` of the grant), by which suspects are found. In part of an
-- index only while it is a suspect, so that nothing else pays for it.
ALTER TABLE leases ADD COLUMN deaths int NOT NULL DEFAULT 0,
  DROP CONSTRAINT leases_whole,
  ADD CONSTRAINT leases_whole CHECK (token > 0 AND token < 9007199254740992 AND state IN (0, 1, 2) AND last_end IN (0, 1, 2, 3)) NOT VALID;
COMMENT ON COLUMN leases.last_end IS 'the last holder''s: 0 own will, 1 its worker died, 2 not counted, 3 its worker died and it alone is to blame';
CREATE INDEX leases_suspect ON leases (session_id) WHERE deaths >= 2 AND session_id IS NOT NULL;
-- Of the takeovers in a row without progress those for which it alone is to blame.
ALTER TABLE lease_history ADD COLUMN alone int NOT NULL DEFAULT 0;
-- Dispatches of the step that were lost before this one was taken.
ALTER TABLE dispatches ADD COLUMN deaths int NOT NULL DEFAULT 0;
CREATE INDEX dispatches_suspect ON dispatches (session_id) WHERE state = 'started' AND deaths >= 2;
-- Of a suspect: it is granted with care.
ALTER TABLE ready ADD COLUMN deaths int NOT NULL DEFAULT 0;
CREATE INDEX ready_suspect ON ready (deaths DESC, ready_at) WHERE deaths > 0;
-- The subject or dispatch that alone is to blame for its end.
ALTER TABLE worker_sessions ADD COLUMN blamed uuid;

-- Whether a step completed behind this place in the journal. Here and below: a plan that was made while a table was nearly empty comes by an index all the same.
CREATE FUNCTION completed_since(p_subject uuid, p_seq bigint) RETURNS boolean LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN (SELECT e.seq FROM journal_rows e WHERE e.subject_id = p_subject AND e.seq > p_seq AND e.completed IS NOT NULL LIMIT 1) IS NOT NULL
      OR (SELECT o.event_seq FROM other_completions o WHERE o.subject_id = p_subject AND o.event_seq > p_seq LIMIT 1) IS NOT NULL;
END $$;

CREATE FUNCTION takeover_delay(p_deaths int) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_deaths < 2 THEN interval '0' ELSE least(2 ^ least(p_deaths - 2, 10), 4) * interval '1 second' END
$$;
CREATE FUNCTION trial_time(p_ttl interval, p_deaths int) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT 3 * p_ttl * 2 ^ least(greatest(p_deaths - 1, 0), 10)
$$;
CREATE FUNCTION trial_group(p_slots int, p_deaths int) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT greatest(1, p_slots >> least(greatest(2 * (p_deaths - 1), 0), 30))
$$;

-- Whether it may have suspects: by two small indexes.
CREATE FUNCTION has_suspect(p_session uuid) RETURNS boolean LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN (SELECT l.subject_id FROM leases l WHERE l.session_id = p_session AND l.deaths >= 2 LIMIT 1) IS NOT NULL
      OR (SELECT t.dispatch_id FROM dispatches t WHERE t.session_id = p_session AND t.state = 'started' AND t.deaths >= 2 LIMIT 1) IS NOT NULL;
END $$;

-- The suspects of a session without progress.
CREATE FUNCTION suspects_of(p_session uuid) RETURNS TABLE (id uuid, deaths int, since timestamptz) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT l.subject_id, l.deaths, l.acquired_at FROM leases l
    WHERE l.session_id = p_session AND l.deaths >= 2
      AND NOT completed_since(l.subject_id, (SELECT g.head_seq FROM lease_history g WHERE g.subject_id = l.subject_id AND g.token = l.token));
  RETURN QUERY SELECT t.dispatch_id, t.deaths, t.started_at FROM dispatches t WHERE t.session_id = p_session AND t.state = 'started' AND t.deaths >= 2;
END $$;

-- How many suspects more a session may be given, the worst of those that wait having been in `p_worst` deaths.
CREATE FUNCTION suspects_admitted(p_session uuid, p_worst int) RETURNS int LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_session worker_sessions;
  v_ttl interval;
  v_held int;
  v_most int;
  v_alive int;
  v_others int;
BEGIN
  SELECT * INTO v_session FROM worker_sessions s WHERE s.session_id = p_session;
  v_ttl := v_session.expires_at - v_session.heartbeat_at;
  IF v_now < v_session.started_at + 3 * v_ttl THEN
    RETURN 0;
  END IF;
  SELECT count(*), coalesce(max(x.deaths), 0) INTO v_held, v_most FROM suspects_of(p_session) x WHERE x.since + trial_time(v_ttl, x.deaths) > v_now;
  IF v_held > 0 AND p_worst > v_most THEN  -- who waits is worse: no more beside those here, so that its turn comes
    RETURN 0;
  END IF;
  IF v_held = 0 THEN
    SELECT count(*), count(*) FILTER (WHERE s.session_id <> p_session AND has_suspect(s.session_id) AND EXISTS (
        SELECT FROM suspects_of(s.session_id) x WHERE x.since + trial_time(s.expires_at - s.heartbeat_at, x.deaths) > v_now))
      INTO v_alive, v_others FROM worker_sessions s WHERE s.dead_at IS NULL;
    IF v_others >= greatest(1, v_alive / 2) THEN
      RETURN 0;
    END IF;
  END IF;
  RETURN greatest(0, trial_group(v_session.slots, greatest(p_worst, v_most)) - v_held);
END $$;

-- Who is to blame for the death of a session: the only suspect without progress, if it died in its trial and the rest of the fleet lived.
CREATE FUNCTION blame_of(p_session uuid) RETURNS uuid LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_session worker_sessions;
  v_ids uuid[];
  v_deaths int[];
  v_since timestamptz[];
  v_died bigint;
  v_alive bigint;
BEGIN
  SELECT array_agg(x.id), array_agg(x.deaths), array_agg(x.since) INTO v_ids, v_deaths, v_since FROM (SELECT * FROM suspects_of(p_session) LIMIT 2) x;
  SELECT * INTO v_session FROM worker_sessions s WHERE s.session_id = p_session;
  IF cardinality(v_ids) IS DISTINCT FROM 1
     OR v_session.expires_at >= v_since[1] + trial_time(v_session.expires_at - v_session.heartbeat_at, v_deaths[1]) THEN
    RETURN NULL;
  END IF;
  SELECT count(*) FILTER (WHERE s.dead_at IS NULL), count(*) FILTER (WHERE s.dead_at > v_since[1] AND s.dead_at >= s.expires_at) INTO v_alive, v_died
    FROM worker_sessions s WHERE s.session_id <> p_session;
  RETURN CASE WHEN 2 * v_died <= v_alive THEN v_ids[1] END;
END $$;

-- As before (0009); and of each that died on its own, who is to blame.
CREATE OR REPLACE FUNCTION reap_sessions() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_locked uuid[];
  v_now timestamptz;
  v_alive bigint;
  v_dead bigint;
BEGIN
  SELECT array_agg(l.session_id) INTO v_locked
    FROM (SELECT s.session_id FROM worker_sessions s WHERE s.dead_at IS NULL AND s.expires_at <= clock_timestamp() ORDER BY s.session_id
          FOR UPDATE SKIP LOCKED) l;
  IF v_locked IS NULL THEN
    RETURN 0;
  END IF;
  -- hold: reap_session_locked
  v_now := clock_timestamp();
  SELECT count(*) FILTER (WHERE s.session_id = ANY (v_locked) AND s.expires_at <= v_now), count(*) INTO v_dead, v_alive
    FROM worker_sessions s WHERE s.dead_at IS NULL;
  UPDATE worker_sessions s SET dead_at = v_now, end_kind = CASE WHEN v_dead > 1 AND 2 * v_dead > v_alive THEN 2 ELSE 1 END
    WHERE s.session_id = ANY (v_locked) AND s.dead_at IS NULL AND s.expires_at <= v_now;
  GET DIAGNOSTICS v_dead = ROW_COUNT;
  UPDATE worker_sessions s SET blamed = blame_of(s.session_id)
    WHERE s.session_id = ANY (v_locked) AND s.dead_at = v_now AND s.end_kind = 1 AND has_suspect(s.session_id);
  RETURN v_dead;
END $$;

-- As before (0122); a suspect becomes ready as one.
CREATE OR REPLACE FUNCTION reap_leases(p_max int) RETURNS TABLE (freed bigint, more boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_subjects uuid[];
  v_tokens bigint[];
  v_ends smallint[];
  v_deaths int[];             -- of workers in a row since the last completed step, this one included
  v_now timestamptz := clock_timestamp();
  v_freed bigint;
  v_seen bigint;
BEGIN
  SELECT array_agg(c.subject_id) INTO v_subjects
    FROM (SELECT l.subject_id FROM worker_sessions s CROSS JOIN LATERAL (SELECT x.subject_id FROM leases x WHERE x.session_id = s.session_id LIMIT p_max) l
          WHERE s.dead_at IS NOT NULL AND NOT s.reaped LIMIT p_max) c;
  v_seen := coalesce(cardinality(v_subjects), 0);
  -- hold: reap_chosen
  SELECT array_agg(l.subject_id ORDER BY l.subject_id), mint_tokens(array_agg(l.token ORDER BY l.subject_id)),
         array_agg((CASE WHEN s.end_kind <> 1 THEN 2 WHEN s.blamed = l.subject_id THEN 3 ELSE 1 END)::smallint ORDER BY l.subject_id)
    INTO v_subjects, v_tokens, v_ends
    FROM (SELECT c.id FROM unnest(v_subjects) AS c(id) ORDER BY c.id) c
    CROSS JOIN LATERAL (SELECT x.subject_id, x.session_id, x.token FROM leases x WHERE x.subject_id = c.id LIMIT 1 FOR UPDATE SKIP LOCKED) l
    CROSS JOIN LATERAL (SELECT x.end_kind, x.blamed FROM worker_sessions x WHERE x.session_id = l.session_id AND x.dead_at IS NOT NULL LIMIT 1) s;
  -- hold: reap_leases_locked
  SELECT array_agg(coalesce((
      SELECT CASE WHEN g.takeovers_without_progress > 0 AND g.head_seq <> h.head_seq AND completed_since(v_subjects[n], g.head_seq) THEN 0 ELSE g.takeovers_without_progress END + (v_ends[n] <> 2)::int
      FROM lease_history g CROSS JOIN LATERAL (SELECT x.head_seq FROM subject_head x WHERE x.subject_id = g.subject_id LIMIT 1) h
      WHERE g.subject_id = v_subjects[n] ORDER BY g.token DESC LIMIT 1), 0) ORDER BY n) INTO v_deaths
    FROM generate_subscripts(v_subjects, 1) n;
  WITH freed_now AS (
    UPDATE leases l SET token = v_tokens[array_position(v_subjects, l.subject_id)], session_id = NULL, acquired_at = NULL,
                        last_end = v_ends[array_position(v_subjects, l.subject_id)],
                        not_before = v_now + CASE WHEN v_ends[array_position(v_subjects, l.subject_id)] = 2 THEN interval '0'
                                                ELSE takeover_delay(v_deaths[array_position(v_subjects, l.subject_id)]) END
      WHERE l.subject_id = ANY (v_subjects)
      RETURNING l.subject_id, l.state, l.not_before, l.required_version),
  readied AS (
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version, deaths)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), f.not_before, s.subject_id, s.kind, f.required_version,
           CASE WHEN v_deaths[array_position(v_subjects, f.subject_id)] >= 2 THEN v_deaths[array_position(v_subjects, f.subject_id)] ELSE 0 END
    FROM freed_now f CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = f.subject_id LIMIT 1) s WHERE f.state = 0
    ON CONFLICT DO NOTHING RETURNING 1)
  SELECT count(*) INTO v_freed FROM freed_now;
  -- No grant can be made to a dead session, so what no lease and no started dispatch names now none will name again.
  UPDATE worker_sessions s SET reaped = true WHERE s.dead_at IS NOT NULL AND NOT s.reaped
    AND (SELECT l.subject_id FROM leases l WHERE l.session_id = s.session_id LIMIT 1) IS NULL
    AND (SELECT t.dispatch_id FROM dispatches t WHERE t.session_id = s.session_id AND t.state = 'started' LIMIT 1) IS NULL;
  RETURN QUERY SELECT v_freed, v_seen = p_max AND v_freed > 0;
END $$;

-- As before (0124); only the loss for which the dispatch alone is to blame counts against its step.
CREATE OR REPLACE FUNCTION reap_dispatches(p_subject uuid, p_max int) RETURNS TABLE (lost bigint, withdrawn bigint, more boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_dispatches uuid[];
  v_subjects uuid[];
  v_locked uuid[];
  v_gone uuid[];             -- of what ended: the subjects, one for each dispatch
  v_results text[];             -- and what is said of it
  v_now timestamptz := clock_timestamp();
  v_lost bigint;
  v_withdrawn bigint;
BEGIN
  SELECT array_agg(c.dispatch_id), array_agg(c.subject_id) INTO v_dispatches, v_subjects FROM (
    (SELECT t.dispatch_id, t.subject_id FROM worker_sessions s
     CROSS JOIN LATERAL (SELECT x.dispatch_id, x.subject_id FROM dispatches x WHERE x.session_id = s.session_id AND x.state = 'started' LIMIT p_max) t
     WHERE p_subject IS NULL AND s.dead_at IS NOT NULL AND NOT s.reaped LIMIT p_max)
    UNION ALL
    (SELECT t.dispatch_id, t.subject_id FROM dispatches t WHERE p_subject IS NULL AND t.state = 'queued' AND t.cancel_requested LIMIT p_max)
    UNION ALL
    (SELECT t.dispatch_id, t.subject_id FROM dispatches t WHERE t.subject_id = p_subject AND t.state = 'queued' AND t.cancel_requested LIMIT p_max)) c;
  IF v_dispatches IS NULL THEN
    RETURN QUERY SELECT 0::bigint, 0::bigint, false;
    RETURN;
  END IF;
  -- hold: reap_chosen
  SELECT coalesce(array_agg(l.subject_id), '{}') INTO v_locked
    FROM (SELECT DISTINCT c.id FROM unnest(v_subjects) AS c(id) ORDER BY c.id) c
    CROSS JOIN LATERAL (SELECT x.subject_id FROM leases x WHERE x.subject_id = c.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) l;
  -- hold: reap_leases_locked
  SELECT coalesce(array_agg(k.dispatch_id), '{}') INTO v_dispatches
    FROM (SELECT c.id FROM unnest(v_dispatches, v_subjects) AS c(id, subject) WHERE c.subject = ANY (v_locked) ORDER BY c.id) c
    CROSS JOIN LATERAL (SELECT x.dispatch_id FROM dispatches x WHERE x.dispatch_id = c.id LIMIT 1 FOR UPDATE SKIP LOCKED) k;
  -- The rows are locked by us: their places stay.
  WITH gone AS (
    UPDATE dispatches t SET state = CASE t.state WHEN 'started' THEN 'lost' ELSE 'cancelled' END, ended_at = v_now, payload = ''
    WHERE t.ctid = ANY (ARRAY(SELECT x.place FROM unnest(v_dispatches) AS c(id)
                              CROSS JOIN LATERAL (SELECT y.ctid AS place FROM dispatches y WHERE y.dispatch_id = c.id LIMIT 1) x))
      AND (t.state = 'queued' AND t.cancel_requested
           OR t.state = 'started' AND (SELECT s.dead_at FROM worker_sessions s WHERE s.session_id = t.session_id) IS NOT NULL)
    RETURNING t.*)
  SELECT array_agg(g.dispatch_id), array_agg(g.subject_id),
         array_agg(CASE g.state WHEN 'lost' THEN json_build_object('step_id', g.step_id, 'attempt', g.attempt_id, 'outcome', 'lost', 'counted', coalesce(s.blamed = g.dispatch_id, false),
                                                                   'worker', s.worker_name, 'token', g.token)::text
                        ELSE json_build_object('step_id', g.step_id, 'attempt', g.attempt_id, 'outcome', 'cancelled')::text END),
         count(*) FILTER (WHERE g.state = 'lost'), count(*) FILTER (WHERE g.state = 'cancelled')
    INTO v_dispatches, v_gone, v_results, v_lost, v_withdrawn
    FROM gone g LEFT JOIN LATERAL (SELECT x.blamed, x.worker_name FROM worker_sessions x WHERE x.session_id = g.session_id LIMIT 1) s ON true;
  WITH woken AS (
    UPDATE leases l SET wake = l.wake + cardinality(array_positions(v_gone, l.subject_id))
    WHERE l.subject_id = ANY (v_gone) AND l.state <> 1
    RETURNING l.subject_id, l.session_id, l.state, l.required_version),
  told AS (
    INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
    SELECT w.subject_id, v_dispatches[n], 'dispatch_result', v_results[n], v_now, w.session_id FROM woken w, unnest(array_positions(v_gone, w.subject_id)) n)
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), v_now, s.subject_id, s.kind, w.required_version
    FROM woken w CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = w.subject_id LIMIT 1) s WHERE w.session_id IS NULL AND w.state = 0
    ON CONFLICT DO NOTHING;
  RETURN QUERY SELECT v_lost, v_withdrawn, v_lost + v_withdrawn >= p_max;
END $$;

-- As before (0009); nothing of it ran, so what it was suspected of it is.
CREATE OR REPLACE FUNCTION release_lease(p_subject uuid, p_session uuid, p_token bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
  WITH freed AS (
    UPDATE leases l SET session_id = NULL, last_end = 2, acquired_at = NULL
    WHERE l.subject_id = p_subject AND l.session_id = p_session AND l.token = p_token RETURNING l.subject_id, l.state, l.required_version)
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
  SELECT s.queue, s.priority, ready_shard(s.subject_id), clock_timestamp(), s.subject_id, s.kind, f.required_version
  FROM freed f JOIN subjects s ON s.subject_id = f.subject_id WHERE f.state = 0 ON CONFLICT DO NOTHING
$$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
