-- migrate:up
-- Subjects that are commanded (shared/kernel/command.h): a command takes the lease, decides, appends and gives it back in one transaction. And what projects
-- show of themselves: the tables of document 000, section 6.
SET LOCAL ROLE acl_owner;

-- What was answered under a request key, for as long as the subject lives.
CREATE TABLE command_answers (
  subject_id uuid NOT NULL,
  request_key text NOT NULL CHECK (request_key <> '' AND length(request_key) <= 300),
  request_hash bytea NOT NULL CHECK (length(request_hash) = 32),
  event_seq bigint NOT NULL CHECK (event_seq > 0),      -- the head after it
  answer text NOT NULL,                                 -- JSON
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (subject_id, request_key)
);
GRANT SELECT, INSERT ON command_answers TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON command_answers FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON command_answers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The first half of a command: lock, test, raise the token, read what is behind `p_known`. The caller decides, appends and commits in the same transaction. Parts as
-- of read_granted (0161): 1 the head, whose n6 says whether nothing is behind `p_known`; 2 and 3 snapshot and events, no snapshot if only events are
-- missing; 4 attempts; 5 inbox; 6 timers. 9: an answer of before (t1 its key, t2 the answer, n1 the head after it, b1 what was asked).
-- Ready rows that were put because something was posted have done their work once it is read.
CREATE FUNCTION open_command(p_subject uuid, p_known bigint, p_takes_inbox boolean, p_keys text[])
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

-- What was read does not verify: nothing is decided on it until a person has looked. In the transaction that opened it.
CREATE FUNCTION quarantine_opened(p_subject uuid, p_token bigint, p_reason text, p_detail text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE leases l SET state = 2 WHERE l.subject_id = p_subject AND l.session_id IS NULL AND l.token = p_token AND l.state = 0;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the lease of % is not open under token %', p_subject, p_token USING ERRCODE = 'AC001';
  END IF;
  INSERT INTO quarantine (subject_id, reason, detail, at) VALUES (p_subject, p_reason, p_detail, clock_timestamp());
END $$;

-- A project is a subject: its id is the subject's, and its name is here. Whoever has no subject yet is not there, and its name is free for whoever makes it again.
GRANT INSERT ON projects TO acl_service;

-- Document 000, section 6: what people read. Nothing decides by it; `airun verify` makes it again from the journals and compares.
CREATE TABLE goals (
  project_id uuid NOT NULL,
  goal_id text NOT NULL,
  text text NOT NULL,
  priority int NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'paused', 'done')),
  withdrawn boolean NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, goal_id)
);
CREATE TABLE tasks (
  project_id uuid NOT NULL,
  task_id text NOT NULL,
  goal_id text NOT NULL,
  title text NOT NULL,
  status text NOT NULL CHECK (status IN ('todo', 'doing', 'blocked', 'done')),
  withdrawn boolean NOT NULL,
  priority int NOT NULL,
  acceptance_criteria text[] NOT NULL,
  depends_on text[] NOT NULL,
  holder text,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, task_id)
);
CREATE TABLE checkpoints (
  project_id uuid NOT NULL,
  task_id text NOT NULL,
  where_we_left_off text NOT NULL,
  next_step text NOT NULL,
  needed_context_refs text[] NOT NULL,
  blockers text[] NOT NULL,
  "timestamp" timestamptz NOT NULL,
  PRIMARY KEY (project_id, task_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON goals, tasks, checkpoints TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON goals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON tasks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON checkpoints FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Rows as shared/kernel/command.h's ShownRow: by table and id, columns as a JSON object; without one the row goes. Each is written whole.
CREATE FUNCTION show_rows(p_subject uuid, p_table text[], p_id text[], p_row text[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_known constant text[] := '{goals,tasks,checkpoints}';
  v_keys constant text[] := '{goal_id,task_id,task_id}';
  v_table text;
BEGIN
  FOREACH v_table IN ARRAY ARRAY(SELECT DISTINCT t FROM unnest(p_table) AS t) LOOP
    IF NOT v_table = ANY (v_known) THEN
      RAISE EXCEPTION 'there is no table % to show rows in', v_table USING ERRCODE = 'AC006';
    END IF;
    EXECUTE format('DELETE FROM %I g USING unnest($2, $3) AS r(tab, id) WHERE r.tab = $4 AND g.project_id = $1 AND g.%I = r.id', v_table, v_keys[array_position(v_known, v_table)])
      USING p_subject, p_table, p_id, v_table;
    EXECUTE format('INSERT INTO %1$I SELECT g.* FROM unnest($2, $3) AS r(tab, shown)
      CROSS JOIN LATERAL jsonb_populate_record(NULL::%1$I, r.shown::jsonb || jsonb_build_object(''project_id'', $1)) g WHERE r.tab = $4 AND r.shown IS NOT NULL', v_table)
      USING p_subject, p_table, p_row, v_table;
  END LOOP;
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
