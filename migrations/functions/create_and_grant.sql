-- Create, the general form: many subjects in one transaction, with request keys, timers, contents and grants. (Most runs are made by one
-- statement, shared/postgres/create_statement.cc.) The caller sealed the events under the token it expected. If the epoch moved since,
-- nothing is written and item 0 with outcome 9 carries the right token. Outcomes: 0 created, 1 the request was made before, 2 its key was
-- used for another request. p_grant: the session that gets the lease at once, if it lives; else a row in ready.
CREATE OR REPLACE FUNCTION create_and_grant(
  p_token bigint,
  p_subject uuid[], p_project uuid[], p_kind text[], p_queue text[], p_priority int[], p_version int[], p_key text[], p_hash bytea[],
  p_head bigint[], p_chain bytea[], p_root bytea[], p_journal uuid[], p_at timestamptz[], p_deadline timestamptz[], p_ready boolean[],
  p_name text[], p_name_version text[], p_owner text[], p_status text[], p_definition text[], p_labels text[], p_traceparent text[],
  e_item int[], e_seq bigint[], e_type text[], e_schema int[], e_producer text[], e_at timestamptz[], e_checksum bytea[], e_content bytea[],
  e_chain bytea[], e_payload text[], e_offloaded boolean[],
  t_item int[], t_id text[], t_at timestamptz[], x_item int[], x_hash bytea[], p_grant uuid[])
RETURNS TABLE (item int, outcome int, subject uuid, token bigint, db_now timestamptz, granted boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_token bigint := (mint_tokens(ARRAY[0]::bigint[]))[1];
  v_keys boolean := array_remove(p_key, NULL) <> '{}';  -- some request has one
  v_keyed boolean[];    -- by item: the request is new
  v_fresh boolean[];    -- by item: the subject is ours to write
  v_live uuid[] := '{}';  -- of the sessions named, those that live: locked, so that none of them is marked dead beside this
  v_given boolean[];    -- by item: goes to its session
  v_now timestamptz := clock_timestamp();
  v_twice uuid;
  v_lost text;
BEGIN
  IF v_token <> p_token THEN
    RETURN QUERY SELECT 0, 9, NULL::uuid, v_token, clock_timestamp(), false;
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
  IF array_remove(p_grant, NULL) <> '{}' THEN
    SELECT coalesce(array_agg(s.session_id), '{}') INTO v_live
      FROM (SELECT x.session_id FROM worker_sessions x WHERE x.session_id = ANY (p_grant) AND x.dead_at IS NULL ORDER BY x.session_id FOR KEY SHARE) s;
    -- hold: create_sessions_locked
  END IF;
  SELECT array_agg(coalesce(p_ready[n] AND p_grant[n] = ANY (v_live), false) ORDER BY n) INTO v_given FROM generate_subscripts(p_subject, 1) n;
  WITH leased AS (
    INSERT INTO leases AS l (subject_id, token, required_version, session_id, acquired_at)
    SELECT p_subject[n], p_token, p_version[n], CASE WHEN v_given[n] THEN p_grant[n] END, CASE WHEN v_given[n] THEN v_now END
    FROM generate_subscripts(p_subject, 1) n WHERE v_keyed[n] ORDER BY p_subject[n], n
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

  INSERT INTO definition_texts (hash, text) SELECT DISTINCT sha256(convert_to(t, 'UTF8')), t FROM unnest(p_definition) AS t WHERE t IS NOT NULL ORDER BY 1 ON CONFLICT DO NOTHING;
  INSERT INTO subjects (subject_id, project_id, kind, queue, priority, created_at, traceparent, definition_hash)
    SELECT p_subject[n], p_project[n], p_kind[n], p_queue[n], p_priority[n], p_at[n], p_traceparent[n],
           CASE WHEN p_name[n] IS NOT NULL THEN sha256(convert_to(p_definition[n], 'UTF8')) END
    FROM generate_subscripts(p_subject, 1) n WHERE v_fresh[n];
  INSERT INTO subject_head (subject_id, head_seq, chain, state_root, journal_id, last_timestamp, run_deadline)
    SELECT p_subject[n], p_head[n], p_chain[n], p_root[n], p_journal[n], p_at[n], p_deadline[n]
    FROM generate_subscripts(p_subject, 1) n WHERE v_fresh[n];
  INSERT INTO journal_rows (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, chain, payload, offloaded)
    SELECT p_subject[e_item[n]], e_seq[n], p_journal[e_item[n]], e_type[n], e_schema[n], e_producer[n], p_token, e_at[n], e_checksum[n], e_content[n], e_chain[n],
           e_payload[n], e_offloaded[n]
    FROM generate_subscripts(e_item, 1) n WHERE v_fresh[e_item[n]];
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
  IF true = ANY (v_given) THEN
    INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, granted_at)
      SELECT p_subject[n], p_token, p_grant[n], p_head[n], 0, v_now FROM generate_subscripts(p_subject, 1) n WHERE v_fresh[n] AND v_given[n];
  END IF;
  IF false = ANY (v_given) THEN
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version, begun)
      SELECT p_queue[n], p_priority[n], ready_shard(p_subject[n]), clock_timestamp(), p_subject[n], p_kind[n], p_version[n], false
      FROM generate_subscripts(p_subject, 1) n WHERE v_fresh[n] AND p_ready[n] AND NOT v_given[n];
  END IF;

  IF NOT v_keys THEN
    RETURN QUERY SELECT n, 0, p_subject[n], p_token, clock_timestamp(), v_given[n] FROM generate_subscripts(p_subject, 1) n;
    RETURN;
  END IF;
  RETURN QUERY
    SELECT n, CASE WHEN v_fresh[n] THEN 0 WHEN r.request_hash <> p_hash[n] THEN 2 ELSE 1 END, coalesce(r.subject_id, p_subject[n]),
           CASE WHEN v_fresh[n] THEN p_token ELSE (SELECT l.token FROM leases l WHERE l.subject_id = coalesce(r.subject_id, p_subject[n])) END,
           clock_timestamp(), v_fresh[n] AND v_given[n]
    FROM generate_subscripts(p_subject, 1) n LEFT JOIN request_keys r ON r.scope = p_project[n] AND r.request_key = p_key[n]
    ORDER BY n;
END $$;
