-- The first half of a command (shared/kernel/command.h): lock the lease, test it, raise the token, read what is behind p_known. The caller
-- decides, appends and commits in the same transaction. Parts as in read_granted: 1 the head, whose n6 says that nothing is behind
-- p_known; 2 and 3 snapshot and events, without the snapshot if only events are missing; 4 attempts; 5 inbox; 6 timers; and 9, an earlier
-- answer under one of the keys (t1 the key, t2 the answer, n1 the head after it, b1 the hash of the request).
CREATE OR REPLACE FUNCTION open_command(p_subject uuid, p_known bigint, p_takes_inbox boolean, p_keys text[])
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, n5 bigint, n6 bigint, u1 uuid, u2 uuid, t1 text, t2 text, t3 text, t4 text,
               b1 bytea, b2 bytea, b3 bytea, b4 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_lease leases;
  v_head bigint;
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
  ELSIF NOT p_takes_inbox AND EXISTS (SELECT FROM inbox i WHERE i.subject_id = p_subject) THEN
    RAISE EXCEPTION 'subject % has unread inbox rows: post to its inbox', p_subject USING ERRCODE = 'AC002';
  END IF;
  v_token := (mint_tokens(ARRAY[v_lease.token]))[1];
  v_now := clock_timestamp();
  SELECT h.head_seq INTO v_head FROM subject_head h WHERE h.subject_id = p_subject;
  UPDATE leases l SET token = v_token, last_end = 0 WHERE l.subject_id = p_subject;
  INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, granted_at) VALUES (p_subject, v_token, NULL, v_head, 0, v_now);
  RETURN QUERY SELECT r.* FROM read_granted((v_now, ARRAY[p_subject], ARRAY[v_token], ARRAY[v_lease.wake], ARRAY[0], ARRAY[p_known > 0 AND p_known <= v_head], '{}'::uuid[],
                                             0, 0, NULL)::granted) r;
  IF p_known > 0 AND p_known < v_head THEN
    RETURN QUERY SELECT 3, e.subject_id, e.seq, e.schema_version::bigint, e.token, NULL::bigint, NULL::bigint, NULL::bigint, e.journal_id, NULL::uuid, e.type,
                        e.producer_version || E'\n' || CASE WHEN e.offloaded THEN '@' ELSE coalesce('+' || e.payload, '-') END, e.completed, e.begun,
                        e.checksum, coalesce(e.content_hash, e.checksum), e.chain, e.root, e.at
      FROM journal_rows e WHERE e.subject_id = p_subject AND e.seq > p_known ORDER BY e.seq;
  END IF;
  IF cardinality(p_keys) > 0 THEN
    RETURN QUERY SELECT 9, a.subject_id, a.event_seq, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, a.request_key,
                        a.answer, NULL::text, NULL::text, a.request_hash, NULL::bytea, NULL::bytea, NULL::bytea, a.at
      FROM command_answers a WHERE a.subject_id = p_subject AND a.request_key = ANY (p_keys);
  END IF;
  IF p_takes_inbox AND v_lease.wake > 0 THEN
    DELETE FROM ready d WHERE d.ctid = ANY (ARRAY(
      SELECT r.ctid FROM subjects s JOIN ready r ON r.queue = s.queue AND r.priority = s.priority AND r.shard = ready_shard(p_subject) AND r.ready_at <= v_now AND r.subject_id = p_subject
      WHERE s.subject_id = p_subject FOR UPDATE OF r SKIP LOCKED));
  END IF;
END $$;
