-- migrate:up
-- Bytes of the log that nobody needs (docs/performance.md).
SET LOCAL ROLE acl_owner;

-- Of a row that is compressed to less than it may be, PostgreSQL moves out of line whatever is longer than the 18 bytes of the reference and may be moved: the
-- three hashes of every first event went to a table of their own, three rows and three index entries a run, read back at each claim.
ALTER TABLE event_rows ALTER COLUMN type SET STORAGE MAIN, ALTER COLUMN producer_version SET STORAGE MAIN, ALTER COLUMN checksum SET STORAGE MAIN,
  ALTER COLUMN content_hash SET STORAGE MAIN, ALTER COLUMN chain SET STORAGE MAIN;

-- The workflow as submitted never changes, so it stands in the row that never changes: each change of a listing wrote it anew. Rows from before keep theirs in the
-- listing; a program from before reads an empty text of newer ones.
ALTER TABLE subjects ADD COLUMN definition_text text;
ALTER TABLE subjects ALTER COLUMN definition_text SET STORAGE MAIN;
DO $$ BEGIN
  ALTER TABLE subjects ALTER COLUMN definition_text SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  NULL;  -- said in 0112
END $$;
ALTER TABLE listings ALTER COLUMN definition_text SET DEFAULT '';

CREATE OR REPLACE VIEW workflows AS
SELECT l.subject_id AS id, l.name, l.version, l.owner, l.status, coalesce(s.definition_text, l.definition_text) AS spec_yaml, l.created_at, l.updated_at, l.completed_at,
       l.error_message, l.started_at, l.labels, l.project_id
FROM listings l JOIN subjects s USING (subject_id) WHERE l.kind = 'workflow';

CREATE OR REPLACE FUNCTION create_subjects(
  p_token bigint,
  p_subject uuid[], p_project uuid[], p_kind text[], p_queue text[], p_priority int[], p_version int[], p_key text[], p_hash bytea[],
  p_head bigint[], p_chain bytea[], p_root bytea[], p_journal uuid[], p_at timestamptz[], p_deadline timestamptz[], p_ready boolean[],
  p_name text[], p_name_version text[], p_owner text[], p_status text[], p_definition text[], p_labels text[], p_traceparent text[],
  e_item int[], e_seq bigint[], e_type text[], e_schema int[], e_producer text[], e_at timestamptz[], e_checksum bytea[], e_content bytea[],
  e_chain bytea[], e_payload text[], e_offloaded boolean[],
  t_item int[], t_id text[], t_at timestamptz[], x_item int[], x_hash bytea[])
RETURNS TABLE (item int, outcome int, subject uuid, token bigint, db_now timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_token bigint := (mint_tokens(ARRAY[0]::bigint[]))[1];
  v_keys boolean := array_remove(p_key, NULL) <> '{}';  -- some request has one
  v_keyed boolean[];    -- by item: the request is new
  v_fresh boolean[];    -- by item: the subject is ours to write
  v_twice uuid;
  v_lost text;
BEGIN
  IF v_token <> p_token THEN
    RETURN QUERY SELECT 0, 9, NULL::uuid, v_token, clock_timestamp();
    RETURN;
  END IF;

  -- Request keys first, in order, each waiting for a twin that is not committed yet; what the twin wrote is read in a later statement.
  IF v_keys THEN
    WITH keyed AS (
      INSERT INTO request_keys AS r (scope, request_key, request_hash, subject_id)
      SELECT p_project[n], p_key[n], p_hash[n], p_subject[n] FROM generate_subscripts(p_subject, 1) n WHERE p_key[n] IS NOT NULL
      ORDER BY p_project[n], p_key[n], n
      ON CONFLICT DO NOTHING RETURNING r.scope, r.request_key, r.subject_id)
    SELECT array_agg(p_key[n] IS NULL OR EXISTS (SELECT FROM keyed k WHERE k.scope = p_project[n] AND k.request_key = p_key[n] AND k.subject_id = p_subject[n])
                     ORDER BY n)
      INTO v_keyed FROM generate_subscripts(p_subject, 1) n;
  ELSE
    v_keyed := array_fill(true, ARRAY[cardinality(p_subject)]);
  END IF;
  -- hold: create_keyed
  WITH leased AS (
    INSERT INTO leases AS l (subject_id, token, required_version)
    SELECT p_subject[n], p_token, p_version[n] FROM generate_subscripts(p_subject, 1) n WHERE v_keyed[n] ORDER BY p_subject[n], n
    ON CONFLICT DO NOTHING RETURNING l.subject_id)
  SELECT array_agg(v_keyed[n] AND EXISTS (SELECT FROM leased k WHERE k.subject_id = p_subject[n]) ORDER BY n)
    INTO v_fresh FROM generate_subscripts(p_subject, 1) n;

  IF v_keyed <> v_fresh THEN
    SELECT p_subject[n] INTO v_twice FROM generate_subscripts(p_subject, 1) n WHERE v_keyed[n] AND NOT v_fresh[n] LIMIT 1;
    RAISE EXCEPTION 'subject % exists already: ids are never used twice', v_twice USING ERRCODE = 'AC002';
  END IF;

  IF cardinality(x_item) > 0 THEN
    SELECT encode(x.hash, 'hex') INTO v_lost FROM unnest(x_item, x_hash) AS x(item, hash)
      WHERE v_fresh[x.item] AND NOT EXISTS (SELECT FROM contents c WHERE c.hash = x.hash) LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION 'content % is not stored (any more)', v_lost USING ERRCODE = 'AC003';
    END IF;
  END IF;

  INSERT INTO subjects (subject_id, project_id, kind, queue, priority, created_at, traceparent, definition_text)
    SELECT p_subject[n], p_project[n], p_kind[n], p_queue[n], p_priority[n], p_at[n], p_traceparent[n], CASE WHEN p_name[n] IS NOT NULL THEN p_definition[n] END FROM generate_subscripts(p_subject, 1) n WHERE v_fresh[n];
  INSERT INTO subject_head (subject_id, head_seq, chain, state_root, journal_id, last_timestamp, run_deadline)
    SELECT p_subject[n], p_head[n], p_chain[n], p_root[n], p_journal[n], p_at[n], p_deadline[n]
    FROM generate_subscripts(p_subject, 1) n WHERE v_fresh[n];
  INSERT INTO event_rows (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, chain, payload, offloaded)
    SELECT p_subject[e.item], e.seq, p_journal[e.item], e.type, e.schema, e.producer, p_token, e.at, e.checksum, e.content, e.chain, e.payload, e.offloaded
    FROM unnest(e_item, e_seq, e_type, e_schema, e_producer, e_at, e_checksum, e_content, e_chain, e_payload, e_offloaded)
      AS e(item, seq, type, schema, producer, at, checksum, content, chain, payload, offloaded)
    WHERE v_fresh[e.item];
  INSERT INTO listings (subject_id, project_id, kind, name, version, owner, status, labels, created_at, updated_at)
    SELECT p_subject[n], p_project[n], p_kind[n], p_name[n], p_name_version[n], p_owner[n], p_status[n], p_labels[n], p_at[n], p_at[n]
    FROM generate_subscripts(p_subject, 1) n WHERE v_fresh[n] AND p_name[n] IS NOT NULL;
  IF cardinality(t_item) > 0 THEN
    INSERT INTO timers (subject_id, timer_id, fire_at)
      SELECT p_subject[t.item], t.id, t.at FROM unnest(t_item, t_id, t_at) AS t(item, id, at) WHERE v_fresh[t.item];
  END IF;
  IF cardinality(x_item) > 0 THEN
    INSERT INTO content_refs (hash, subject_id)
      SELECT DISTINCT x.hash, p_subject[x.item] FROM unnest(x_item, x_hash) AS x(item, hash) WHERE v_fresh[x.item] ORDER BY 1;
  END IF;
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT p_queue[n], p_priority[n], ready_shard(p_subject[n]), clock_timestamp(), p_subject[n], p_kind[n], p_version[n]
    FROM generate_subscripts(p_subject, 1) n WHERE v_fresh[n] AND p_ready[n];

  IF NOT v_keys THEN
    RETURN QUERY SELECT n, 0, p_subject[n], p_token, clock_timestamp() FROM generate_subscripts(p_subject, 1) n;
    RETURN;
  END IF;
  RETURN QUERY
    SELECT n, CASE WHEN v_fresh[n] THEN 0 WHEN r.request_hash <> p_hash[n] THEN 2 ELSE 1 END, coalesce(r.subject_id, p_subject[n]),
           CASE WHEN v_fresh[n] THEN p_token ELSE (SELECT l.token FROM leases l WHERE l.subject_id = coalesce(r.subject_id, p_subject[n])) END,
           clock_timestamp()
    FROM generate_subscripts(p_subject, 1) n LEFT JOIN request_keys r ON r.scope = p_project[n] AND r.request_key = p_key[n]
    ORDER BY n;
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
