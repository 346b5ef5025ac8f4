-- migrate:up
-- Claim and direct command (DESIGN.md section 2): the token is raised first, everything of the subject is read in LATER statements of
-- the same VOLATILE function, each with a snapshot of its own: so the old holder's last commit is always seen, in one round trip.
SET LOCAL ROLE acl_owner;

-- What a new holder needs, as rows of one shape. `part`: 1 subject and head, 2 newest snapshot, 3 later events, 4 attempts of steps
-- without completion, 5 unread inbox, 6 timers. The lease rows are locked by the caller, so the wake-up counters cannot move.
CREATE FUNCTION read_subjects(p_subject uuid[])
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN QUERY SELECT 1, l.subject_id, l.token, l.wake, h.head_seq, s.priority::bigint, s.project_id, h.journal_id, s.kind, s.queue, h.chain, h.state_root,
                      NULL::bytea, h.last_timestamp
    FROM unnest(p_subject) WITH ORDINALITY AS p(id, n) JOIN leases l ON l.subject_id = p.id JOIN subject_head h ON h.subject_id = p.id
    JOIN subjects s ON s.subject_id = p.id ORDER BY p.n;
  RETURN QUERY SELECT 2, x.subject_id, x.last_event_seq, x.schema_version::bigint, NULL::bigint, NULL::bigint, x.snapshot_id, NULL::uuid,
                      x.inline_state, NULL::text, x.state_root, x.chain, x.chunks, x.created_at
    FROM unnest(p_subject) AS p(id) CROSS JOIN LATERAL (
      SELECT * FROM snapshot_rows r WHERE r.subject_id = p.id ORDER BY r.last_event_seq DESC LIMIT 1) x;
  RETURN QUERY SELECT 3, e.subject_id, e.seq, e.schema_version::bigint, e.token, NULL::bigint, e.journal_id, NULL::uuid, e.type,
                      e.producer_version || E'\n' || coalesce('+' || e.payload, '-'), e.checksum, e.content_hash, e.chain, e.at
    FROM unnest(p_subject) AS p(id)
    CROSS JOIN LATERAL (SELECT coalesce(max(r.last_event_seq), 0) AS seq FROM snapshot_rows r WHERE r.subject_id = p.id) x
    JOIN event_rows e ON e.subject_id = p.id AND e.seq > x.seq ORDER BY e.subject_id, e.seq;
  RETURN QUERY SELECT 4, a.subject_id, a.attempt_id::bigint, a.token, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, a.step_id, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, a.started_at
    FROM unnest(p_subject) AS p(id) JOIN attempt_rows a ON a.subject_id = p.id
    WHERE NOT EXISTS (SELECT FROM completion_rows c WHERE c.subject_id = a.subject_id AND c.step_id = a.step_id)
    ORDER BY a.subject_id, a.started_at, a.step_id, a.attempt_id;
  RETURN QUERY SELECT 5, i.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, i.inbox_id, NULL::uuid, i.kind, i.payload,
                      NULL::bytea, NULL::bytea, NULL::bytea, i.created_at
    FROM unnest(p_subject) AS p(id) JOIN inbox i ON i.subject_id = p.id ORDER BY i.subject_id, i.arrival;
  RETURN QUERY SELECT 6, t.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, t.timer_id, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, t.fire_at
    FROM unnest(p_subject) AS p(id) JOIN timers t ON t.subject_id = p.id ORDER BY t.subject_id, t.fire_at, t.timer_id;
END $$;

-- Rows of read_subjects, and first a row of part 0: n1 dropped, n2 quarantined, at1 the database's time. Part 7: n1 the takeovers without progress.
CREATE FUNCTION claim_subjects(p_session uuid, p_queues text[], p_max int, p_version int, p_kinds text[])
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_ready ready[] := '{}';
  v_some ready[];
  v_priority int;
  v_queue text;
  v_shard int;
  v_first int := floor(random() * 4)::int;
  v_locked uuid[];            -- leases we have, in ascending order
  v_open uuid[];              -- of them, free and open
  v_tokens bigint[];
  v_without_progress int[];
  v_heads bigint[];
  v_poison uuid[];
  v_now timestamptz := clock_timestamp();
BEGIN
  -- A grant stands beside no marking dead (FOR UPDATE): else the reaper could miss the lease.
  PERFORM 1 FROM worker_sessions s WHERE s.session_id = p_session AND s.dead_at IS NULL FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'session % is dead or unknown', p_session USING ERRCODE = 'AC001';
  END IF;
  -- hold: claim_session_locked

  <<search>>
  FOR v_priority IN 0 .. 3 LOOP
    FOREACH v_queue IN ARRAY p_queues LOOP
      FOR v_shard IN 0 .. 3 LOOP
        WITH picked AS MATERIALIZED (
          SELECT r AS row FROM ready r
          WHERE r.queue = v_queue AND r.priority = v_priority AND r.shard = (v_first + v_shard) % 4 AND r.ready_at <= v_now
            AND r.required_version <= p_version AND (cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds))
          ORDER BY r.ready_at, r.subject_id LIMIT p_max - cardinality(v_ready) FOR UPDATE OF r SKIP LOCKED)
        SELECT array_agg(p.row) INTO v_some FROM picked p;
        v_ready := v_ready || coalesce(v_some, '{}');
        IF cardinality(v_ready) > p_max THEN
          RAISE EXCEPTION 'claimed % ready rows for a limit of %', cardinality(v_ready), p_max USING ERRCODE = 'AC006';
        END IF;
        EXIT search WHEN cardinality(v_ready) >= p_max;
      END LOOP;
    END LOOP;
  END LOOP;
  -- hold: claim_ready_locked

  SELECT coalesce(array_agg(l.subject_id), '{}'), coalesce(array_agg(l.subject_id) FILTER (WHERE l.session_id IS NULL AND l.state = 0), '{}')
    INTO v_locked, v_open
    FROM (SELECT x.subject_id, x.session_id, x.state FROM leases x
          WHERE x.subject_id = ANY (SELECT DISTINCT r.subject_id FROM unnest(v_ready) r) ORDER BY x.subject_id FOR UPDATE SKIP LOCKED) l;
  -- hold: claim_leases_locked

  -- Takeovers without progress: the head of now against the head at the last grant.
  SELECT array_agg(p.id ORDER BY p.id), array_agg(h.head_seq ORDER BY p.id),
         array_agg(CASE WHEN g.head_seq IS DISTINCT FROM h.head_seq OR l.last_end = 0 THEN 0 WHEN l.last_end = 1 THEN g.takeovers_without_progress + 1 ELSE g.takeovers_without_progress END ORDER BY p.id),
         mint_tokens(array_agg(l.token ORDER BY p.id))
    INTO v_open, v_heads, v_without_progress, v_tokens
    FROM unnest(v_open) AS p(id) JOIN leases l ON l.subject_id = p.id JOIN subject_head h ON h.subject_id = p.id
    LEFT JOIN LATERAL (SELECT * FROM lease_history x WHERE x.subject_id = p.id ORDER BY x.token DESC LIMIT 1) g ON true;

  WITH bad AS (SELECT v_open[n] AS id, v_without_progress[n] AS takeovers_without_progress, v_heads[n] AS head FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] >= 5),
  closed AS (UPDATE leases l SET state = 2, waiting_reason = NULL, waiting_since = NULL, next_wake = NULL FROM bad WHERE l.subject_id = bad.id RETURNING l.subject_id),
  told AS (INSERT INTO quarantine (subject_id, reason, detail, at)
    SELECT id, 'takeovers_without_progress', format('%s workers in a row died holding it and the journal stayed at event %s: it may be what kills them', takeovers_without_progress, head), v_now FROM bad
    RETURNING subject_id)
  SELECT coalesce(array_agg(c.subject_id), '{}') INTO v_poison FROM closed c;

  UPDATE leases l SET token = v_tokens[n], session_id = p_session, acquired_at = v_now, last_end = 0, not_before = NULL, waiting_reason = NULL,
                      waiting_since = NULL, next_wake = NULL
    FROM generate_subscripts(v_open, 1) n WHERE l.subject_id = v_open[n] AND v_without_progress[n] < 5;
  INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, granted_at)
    SELECT v_open[n], v_tokens[n], p_session, v_heads[n], v_without_progress[n], v_now FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;
  DELETE FROM ready r USING unnest(v_ready) d
    WHERE r.queue = d.queue AND r.priority = d.priority AND r.shard = d.shard AND r.ready_at = d.ready_at AND r.subject_id = d.subject_id
      AND d.subject_id = ANY (v_locked);
  -- hold: claim_token_raised

  v_open := coalesce(v_open, '{}');
  RETURN QUERY SELECT 0, NULL::uuid, (SELECT count(*) FROM unnest(v_ready) d WHERE d.subject_id = ANY (v_locked) AND NOT d.subject_id = ANY (v_open)),
                      cardinality(v_poison)::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text, NULL::bytea, NULL::bytea,
                      NULL::bytea, v_now;
  RETURN QUERY SELECT 7, v_open[n], v_without_progress[n]::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, v_now
    FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;
  IF cardinality(v_open) > cardinality(v_poison) THEN
    RETURN QUERY SELECT * FROM read_subjects(ARRAY(SELECT v_open[n] FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5 ORDER BY n));
  END IF;
END $$;

-- The first half of a direct command: lock, test, raise the token, read. The caller decides, appends and commits in the same transaction.
CREATE FUNCTION open_direct(p_subject uuid)
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_lease leases;
  v_token bigint;
  v_now timestamptz;
BEGIN
  SELECT * INTO v_lease FROM leases l WHERE l.subject_id = p_subject FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no subject %', p_subject USING ERRCODE = 'AC003';
  END IF;
  -- hold: direct_locked
  IF v_lease.state <> 0 THEN
    RAISE EXCEPTION 'subject % is %', p_subject, CASE v_lease.state WHEN 1 THEN 'closed' ELSE 'quarantined' END USING ERRCODE = 'AC002';
  ELSIF v_lease.session_id IS NOT NULL THEN
    RAISE EXCEPTION 'subject % is held by a worker: post to its inbox', p_subject USING ERRCODE = 'AC002';
  ELSIF EXISTS (SELECT FROM inbox i WHERE i.subject_id = p_subject) THEN
    RAISE EXCEPTION 'subject % has unread inbox rows: post to its inbox', p_subject USING ERRCODE = 'AC002';
  END IF;
  v_token := (mint_tokens(ARRAY[v_lease.token]))[1];
  v_now := clock_timestamp();
  UPDATE leases l SET token = v_token, last_end = 0 WHERE l.subject_id = p_subject;
  INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, granted_at)
    SELECT p_subject, v_token, NULL, h.head_seq, 0, v_now FROM subject_head h WHERE h.subject_id = p_subject;
  RETURN QUERY SELECT 0, NULL::uuid, 0::bigint, 0::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text, NULL::bytea,
                      NULL::bytea, NULL::bytea, v_now;
  RETURN QUERY SELECT * FROM read_subjects(ARRAY[p_subject]);
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
