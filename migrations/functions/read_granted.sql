-- Reads what a new holder needs to know of the subjects it was granted, as rows of one shape. part 0: at1 the database's time, n1 dropped,
-- n2 poisoned, n3 missing. 1, a subject: n1 token, n2 wake, n3 head, n4 priority, n5 takeovers without progress, n6 whether it is sticky,
-- u1 project, u2 journal, t1 kind, t2 queue, t3 of n5 those for which it alone is to blame, t4 the first sequence number of its journal
-- (null: 1), b1 chain, b2 state root, at1 the time of its last event. 2, the newest snapshot; 3, a later event, and if it is packed its
-- root in b4, the step that it completes in t3, the step that it begins in t4; 4, an open attempt; 5, an unread input; 6, a timer; 8, a
-- dispatch. p_later: only n1, n2, n5 and n6 of subjects; the caller reads the rest by another call. VOLATILE, in a statement behind the
-- one that locked the leases, so that it sees the last commit of the holder before.
CREATE OR REPLACE FUNCTION read_granted(p_granted granted, p_later boolean DEFAULT false)
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, n5 bigint, n6 bigint, u1 uuid, u2 uuid, t1 text, t2 text, t3 text, t4 text,
               b1 bytea, b2 bytea, b3 bytea, b4 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_restore uuid[] := p_granted.subject;
  v_rolled uuid[] := '{}';
BEGIN
  part := 0;
  n1 := p_granted.dropped;
  n2 := p_granted.poisoned;
  n3 := p_granted.missing;
  at1 := p_granted.at;
  RETURN NEXT;
  IF cardinality(p_granted.dispatch) > 0 THEN
    RETURN QUERY SELECT 8, t.subject_id, t.attempt_id::bigint, t.priority::bigint, t.token, NULL::bigint, NULL::bigint, NULL::bigint, t.dispatch_id, s.project_id, t.step_id,
                        t.queue || E'\n' || t.payload, NULL::text, NULL::text, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, t.deadline
      FROM dispatches t JOIN subjects s ON s.subject_id = t.subject_id WHERE t.dispatch_id = ANY (p_granted.dispatch) ORDER BY t.created_at, t.dispatch_id;
  END IF;
  IF cardinality(p_granted.subject) = 0 THEN
    RETURN;
  END IF;
  IF p_later THEN
    RETURN QUERY SELECT 1, g.id, g.token, g.wake, NULL::bigint, NULL::bigint, g.takeovers_without_progress::bigint, g.sticky::int::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text, NULL::text, NULL::text,
                        NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, NULL::timestamptz
      FROM unnest(p_granted.subject, p_granted.token, p_granted.wake, p_granted.takeovers_without_progress, p_granted.sticky) AS g(id, token, wake, takeovers_without_progress, sticky);
    RETURN;
  END IF;
  RETURN QUERY SELECT 1, g.id, g.token, g.wake, h.head_seq, s.priority::bigint, g.takeovers_without_progress::bigint, g.sticky::int::bigint, s.project_id, h.journal_id, s.kind, s.queue,
                      CASE WHEN g.takeovers_without_progress > 0 THEN (SELECT x.alone::text FROM lease_history x WHERE x.subject_id = g.id AND x.token = g.token) END, h.journal_first::text,
                      h.chain, h.state_root, NULL::bytea, NULL::bytea, h.last_timestamp
    FROM unnest(p_granted.subject, p_granted.token, p_granted.wake, p_granted.takeovers_without_progress, p_granted.sticky) AS g(id, token, wake, takeovers_without_progress, sticky)
    CROSS JOIN LATERAL (SELECT * FROM subject_head x WHERE x.subject_id = g.id LIMIT 1) h
    CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = g.id LIMIT 1) s;
  IF true = ANY (p_granted.sticky) THEN
    v_restore := ARRAY(SELECT g.id FROM unnest(p_granted.subject, p_granted.sticky) AS g(id, sticky) WHERE NOT g.sticky);
  END IF;
  IF cardinality(v_restore) > 0 THEN
    RETURN QUERY SELECT 2, x.subject_id, x.last_event_seq, x.schema_version::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, x.snapshot_id, NULL::uuid,
                        x.inline_state, NULL::text, NULL::text, NULL::text, x.state_root, x.chain, x.chunks, NULL::bytea, x.created_at
      FROM unnest(v_restore) AS p(id) CROSS JOIN LATERAL (
        SELECT * FROM snapshot_rows r WHERE r.subject_id = p.id ORDER BY r.last_event_seq DESC LIMIT 1) x;
    IF FOUND THEN  -- only behind a snapshot has a journal rolled
      v_rolled := ARRAY(SELECT h.subject_id FROM subject_head h WHERE h.subject_id = ANY (v_restore) AND h.journal_first IS NOT NULL);
    END IF;
    RETURN QUERY SELECT 3, e.subject_id, e.seq, e.schema_version::bigint, e.token, NULL::bigint, NULL::bigint, NULL::bigint, e.journal_id, NULL::uuid, e.type,
                        e.producer_version || E'\n' || CASE WHEN e.offloaded THEN '@' ELSE coalesce('+' || e.payload, '-') END, e.completed, e.begun,
                        e.checksum, coalesce(e.content_hash, e.checksum), e.chain, e.root, e.at
      FROM unnest(v_restore) AS p(id)
      CROSS JOIN LATERAL (SELECT coalesce(max(r.last_event_seq), 0) AS seq FROM snapshot_rows r WHERE r.subject_id = p.id) x
      CROSS JOIN LATERAL (SELECT * FROM journal_rows r WHERE r.subject_id = p.id AND r.seq > x.seq OFFSET 0) e ORDER BY e.subject_id, e.seq;
    IF cardinality(v_rolled) > 0 THEN
      RETURN QUERY SELECT 4, p.id, a.attempt_id::bigint, a.token, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, a.step_id, NULL::text, NULL::text,
                          NULL::text, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, a.started_at
        FROM unnest(v_rolled) AS p(id) CROSS JOIN LATERAL open_attempts(p.id) a ORDER BY p.id, a.started_at, a.step_id, a.attempt_id;
      v_restore := ARRAY(SELECT p.id FROM unnest(v_restore) AS p(id) WHERE NOT p.id = ANY (v_rolled));
    END IF;
    RETURN QUERY SELECT 4, a.subject_id, a.attempt_id::bigint, a.token, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, a.step_id, NULL::text, NULL::text,
                        NULL::text, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, a.started_at
      FROM unnest(v_restore) AS p(id)
      CROSS JOIN LATERAL (
        SELECT * FROM (
          SELECT o.subject_id, o.step_id, o.attempt_id, o.token, o.started_at FROM other_attempts o
          UNION ALL
          SELECT e.subject_id, e.begun, e.begun_attempt, e.token, coalesce(e.begun_at, e.at) FROM journal_rows e WHERE e.begun IS NOT NULL) r
        WHERE r.subject_id = p.id
          AND (SELECT c.attempt_id FROM completion_rows c WHERE c.subject_id = r.subject_id AND c.step_id = r.step_id) IS NULL OFFSET 0) a
      ORDER BY a.subject_id, a.started_at, a.step_id, a.attempt_id;
  END IF;
  -- Every input has raised the counter.
  IF 0 < ANY (p_granted.wake) THEN
    RETURN QUERY SELECT 5, i.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, i.inbox_id, NULL::uuid, i.kind, i.payload, NULL::text, NULL::text,
                        NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, i.created_at
      FROM unnest(p_granted.subject, p_granted.wake) AS p(id, wake) CROSS JOIN LATERAL (SELECT * FROM inbox r WHERE r.subject_id = p.id OFFSET 0) i WHERE p.wake > 0 ORDER BY i.subject_id, i.arrival;
  END IF;
  RETURN QUERY SELECT 6, t.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, t.timer_id, NULL::text, NULL::text, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, t.fire_at
    FROM unnest(p_granted.subject) AS p(id) CROSS JOIN LATERAL (SELECT * FROM timers r WHERE r.subject_id = p.id OFFSET 0) t ORDER BY t.subject_id, t.fire_at, t.timer_id;
END $$;
