CREATE TYPE public.commit_attempt AS (
	item integer,
	subject uuid,
	token bigint,
	step text,
	attempt integer,
	at timestamp with time zone
);

ALTER TYPE public.commit_attempt OWNER TO acl_owner;

CREATE TYPE public.commit_completion AS (
	item integer,
	subject uuid,
	token bigint,
	step text,
	attempt integer,
	fused boolean,
	seq bigint,
	at timestamp with time zone,
	checksum bytea
);

ALTER TYPE public.commit_completion OWNER TO acl_owner;

CREATE TYPE public.commit_event AS (
	item integer,
	subject uuid,
	token bigint,
	seq bigint,
	journal uuid,
	type text,
	schema integer,
	producer text,
	at timestamp with time zone,
	checksum bytea,
	content bytea,
	chain bytea,
	payload text,
	offloaded boolean
);

ALTER TYPE public.commit_event OWNER TO acl_owner;

CREATE TYPE public.commit_item AS (
	n integer,
	subject uuid,
	session uuid,
	token bigint,
	base bigint,
	head bigint,
	chain bytea,
	root bytea,
	at timestamp with time zone,
	disposition integer,
	wake bigint,
	required integer,
	not_before timestamp with time zone,
	reason text,
	next_wake timestamp with time zone
);

ALTER TYPE public.commit_item OWNER TO acl_owner;

CREATE TYPE public.commit_listing AS (
	item integer,
	subject uuid,
	status text,
	error text,
	started timestamp with time zone,
	completed timestamp with time zone,
	at timestamp with time zone
);

ALTER TYPE public.commit_listing OWNER TO acl_owner;

CREATE TYPE public.commit_timer AS (
	item integer,
	subject uuid,
	id text,
	at timestamp with time zone
);

ALTER TYPE public.commit_timer OWNER TO acl_owner;

CREATE TYPE public.create_row AS (
	n integer,
	subject uuid,
	project uuid,
	kind text,
	queue text,
	priority integer,
	version integer,
	head bigint,
	chain bytea,
	root bytea,
	journal uuid,
	at timestamp with time zone,
	deadline timestamp with time zone,
	ready boolean,
	session uuid,
	name text,
	name_version text,
	owner text,
	status text,
	definition bytea,
	labels text,
	traceparent text
);

ALTER TYPE public.create_row OWNER TO acl_owner;

CREATE TYPE public.granted AS (
	at timestamp with time zone,
	subject uuid[],
	token bigint[],
	wake bigint[],
	takeovers_without_progress integer[],
	sticky boolean[],
	dispatch uuid[],
	dropped bigint,
	poisoned bigint,
	missing bigint
);

ALTER TYPE public.granted OWNER TO acl_owner;

CREATE TYPE public.packed_entry AS (
	item integer,
	subject uuid,
	token bigint,
	seq bigint,
	journal uuid,
	type text,
	schema integer,
	producer text,
	at timestamp with time zone,
	checksum bytea,
	content bytea,
	chain bytea,
	payload text,
	root bytea,
	offloaded boolean,
	completed text,
	attempt integer,
	held boolean,
	result bytea,
	begun text,
	begun_attempt integer,
	begun_at timestamp with time zone
);

ALTER TYPE public.packed_entry OWNER TO acl_owner;

CREATE FUNCTION public.attempt_beside(p_subject uuid, p_step text, p_attempt integer) RETURNS integer
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
  RETURN coalesce(
    (SELECT r.attempt_id FROM other_attempts r
     WHERE r.subject_id = p_subject AND r.step_id = p_step AND r.attempt_id = p_attempt
       AND (SELECT c.attempt_id FROM other_completions c WHERE c.subject_id = p_subject AND c.step_id = p_step) IS NULL),
    (SELECT r.attempt_id FROM past_attempts r
     WHERE r.subject_id = p_subject AND r.step_id = p_step AND r.attempt_id = p_attempt
       AND (SELECT c.attempt_id FROM other_completions c WHERE c.subject_id = p_subject AND c.step_id = p_step) IS NULL));
END $$;

ALTER FUNCTION public.attempt_beside(p_subject uuid, p_step text, p_attempt integer) OWNER TO acl_owner;

CREATE FUNCTION public.begun_waits(p_queues text[], p_until timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET enable_sort TO 'off'
    AS $$
BEGIN
  RETURN EXISTS (SELECT FROM unnest(p_queues) AS q(queue)
                 CROSS JOIN LATERAL (SELECT 1 FROM ready r WHERE r.begun AND r.deaths = 0 AND r.queue = q.queue AND r.ready_at <= p_until
                                     ORDER BY r.priority * 4 + r.shard, r.ready_at, r.subject_id LIMIT 1) w);
END $$;

ALTER FUNCTION public.begun_waits(p_queues text[], p_until timestamp with time zone) OWNER TO acl_owner;

CREATE FUNCTION public.blame_of(p_session uuid) RETURNS uuid
    LANGUAGE plpgsql STABLE
    AS $$
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

ALTER FUNCTION public.blame_of(p_session uuid) OWNER TO acl_owner;

CREATE FUNCTION public.chunk_hashes(p_chunks bytea) RETURNS SETOF bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT substr(p_chunks, n, 32) FROM generate_series(1, coalesce(length(p_chunks), 0), 32) n
$$;

ALTER FUNCTION public.chunk_hashes(p_chunks bytea) OWNER TO acl_owner;

CREATE TABLE public.deliveries (
    "position" bigint NOT NULL,
    message_id text NOT NULL,
    project_id uuid NOT NULL,
    subject_id uuid NOT NULL,
    channel text NOT NULL,
    endpoint text NOT NULL,
    event text NOT NULL,
    body text NOT NULL,
    about text DEFAULT ''::text NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    held_until timestamp with time zone,
    ended_at timestamp with time zone,
    last_error text DEFAULT ''::text NOT NULL,
    CONSTRAINT deliveries_channel_check CHECK ((channel = ANY (ARRAY['webhook'::text, 'kafka'::text]))),
    CONSTRAINT deliveries_check CHECK (((state = 'pending'::text) = (ended_at IS NULL))),
    CONSTRAINT deliveries_message_id_check CHECK (((message_id <> ''::text) AND (length(message_id) <= 200))),
    CONSTRAINT deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text, 'discarded'::text])))
)
WITH (fillfactor='70');

ALTER TABLE public.deliveries OWNER TO acl_owner;

CREATE FUNCTION public.claim_deliveries(p_max integer, p_each integer, p_full text[], p_lease_ms bigint) RETURNS SETOF public.deliveries
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_left int := p_max;
  v_now timestamptz;
  v_rows int;
  e record;
BEGIN
  PERFORM take_deliveries(256);
  v_now := clock_timestamp();
  FOR e IN SELECT d.channel, d.endpoint FROM deliveries d WHERE d.state = 'pending' AND d.next_attempt_at <= v_now AND d.endpoint <> ALL (p_full)
           GROUP BY d.channel, d.endpoint ORDER BY min(d.next_attempt_at) LOOP
    EXIT WHEN v_left <= 0;
    RETURN QUERY
    WITH due AS MATERIALIZED (
      SELECT d.position FROM deliveries d
      WHERE d.state = 'pending' AND d.channel = e.channel AND d.endpoint = e.endpoint AND d.next_attempt_at <= v_now
        AND NOT EXISTS (SELECT FROM deliveries f WHERE f.state = 'pending' AND f.subject_id = d.subject_id AND f.channel = d.channel
                        AND f.endpoint = d.endpoint AND f.position < d.position)
      ORDER BY d.next_attempt_at, d.position LIMIT least(p_each, v_left) FOR UPDATE SKIP LOCKED)
    UPDATE deliveries d SET attempts = d.attempts + 1, next_attempt_at = v_now + p_lease_ms * interval '1 millisecond',
                            held_until = v_now + p_lease_ms * interval '1 millisecond'
    FROM due WHERE d.position = due.position RETURNING d.*;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    v_left := v_left - v_rows;
  END LOOP;
END $$;

ALTER FUNCTION public.claim_deliveries(p_max integer, p_each integer, p_full text[], p_lease_ms bigint) OWNER TO acl_owner;

CREATE FUNCTION public.close_session(p_session uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM 1 FROM worker_sessions s WHERE s.session_id = p_session FOR UPDATE;
  UPDATE worker_sessions s SET dead_at = clock_timestamp(), end_kind = 2 WHERE s.session_id = p_session AND s.dead_at IS NULL;
END $$;

ALTER FUNCTION public.close_session(p_session uuid) OWNER TO acl_owner;

CREATE FUNCTION public.collect_contents(p_grace_ms bigint, p_at timestamp with time zone, p_hash bytea, p_max integer) RETURNS TABLE(examined integer, removed integer, last_at timestamp with time zone, last_hash bytea)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - p_grace_ms * interval '1 millisecond';
  v_free bytea[];
BEGIN
  SELECT count(*)::int, (array_agg(x.used_at ORDER BY x.used_at DESC, x.hash DESC))[1], (array_agg(x.hash ORDER BY x.used_at DESC, x.hash DESC))[1],
         coalesce(array_agg(x.hash) FILTER (WHERE NOT EXISTS (SELECT FROM content_refs r WHERE r.hash = x.hash) AND NOT EXISTS (SELECT FROM segment_refs r WHERE r.hash = x.hash)), '{}')
    INTO examined, last_at, last_hash, v_free
    FROM (SELECT c.used_at, c.hash FROM contents c
          WHERE c.used_at IS NOT NULL AND (c.used_at, c.hash) > (p_at, p_hash) AND c.used_at < v_until ORDER BY c.used_at, c.hash LIMIT p_max) x;
  -- hold: collect_seen
  SELECT coalesce(array_agg(l.hash), '{}') INTO v_free
    FROM (SELECT c.hash FROM contents c WHERE c.hash = ANY (v_free) ORDER BY c.hash FOR UPDATE SKIP LOCKED) l;
  -- hold: collect_locked
  WITH gone AS (
    DELETE FROM contents c WHERE c.hash = ANY (v_free) AND NOT EXISTS (SELECT FROM segment_refs r WHERE r.hash = c.hash)
      AND c.used_at < v_until AND NOT EXISTS (SELECT FROM content_refs r WHERE r.hash = c.hash)
    RETURNING c.hash, c.object_key),
  chunks AS (DELETE FROM content_chunks k USING gone g WHERE k.hash = g.hash),
  marked AS (
    INSERT INTO object_marks (object_key, hash, condemned) SELECT g.object_key, g.hash, true FROM gone g WHERE g.object_key IS NOT NULL)
  SELECT count(*)::int INTO removed FROM gone;
  RETURN NEXT;
END $$;

ALTER FUNCTION public.collect_contents(p_grace_ms bigint, p_at timestamp with time zone, p_hash bytea, p_max integer) OWNER TO acl_owner;

CREATE FUNCTION public.completed_since(p_subject uuid, p_seq bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
  RETURN (SELECT e.seq FROM journal_rows e WHERE e.subject_id = p_subject AND e.seq > p_seq AND e.completed IS NOT NULL LIMIT 1) IS NOT NULL
      OR (SELECT o.event_seq FROM other_completions o WHERE o.subject_id = p_subject AND o.event_seq > p_seq LIMIT 1) IS NOT NULL;
END $$;

ALTER FUNCTION public.completed_since(p_subject uuid, p_seq bigint) OWNER TO acl_owner;

CREATE FUNCTION public.condemned_objects(p_grace_ms bigint, p_max integer) RETURNS SETOF text
    LANGUAGE plpgsql
    AS $$
DECLARE v_until timestamptz := clock_timestamp() - p_grace_ms * interval '1 millisecond';
BEGIN
  WITH late AS MATERIALIZED (
    SELECT m.object_key FROM object_marks m WHERE NOT m.condemned AND m.marked_at < v_until ORDER BY m.object_key LIMIT p_max FOR UPDATE SKIP LOCKED)
  UPDATE object_marks m SET condemned = true FROM late l WHERE m.object_key = l.object_key;
  RETURN QUERY SELECT m.object_key FROM object_marks m WHERE m.condemned AND m.marked_at < v_until ORDER BY m.marked_at, m.object_key LIMIT p_max;
END $$;

ALTER FUNCTION public.condemned_objects(p_grace_ms bigint, p_max integer) OWNER TO acl_owner;

CREATE FUNCTION public.create_and_grant(p_token bigint, p_subject uuid[], p_project uuid[], p_kind text[], p_queue text[], p_priority integer[], p_version integer[], p_key text[], p_hash bytea[], p_head bigint[], p_chain bytea[], p_root bytea[], p_journal uuid[], p_at timestamp with time zone[], p_deadline timestamp with time zone[], p_ready boolean[], p_name text[], p_name_version text[], p_owner text[], p_status text[], p_definition text[], p_labels text[], p_traceparent text[], e_item integer[], e_seq bigint[], e_type text[], e_schema integer[], e_producer text[], e_at timestamp with time zone[], e_checksum bytea[], e_content bytea[], e_chain bytea[], e_payload text[], e_offloaded boolean[], t_item integer[], t_id text[], t_at timestamp with time zone[], x_item integer[], x_hash bytea[], p_grant uuid[]) RETURNS TABLE(item integer, outcome integer, subject uuid, token bigint, db_now timestamp with time zone, granted boolean)
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION public.create_and_grant(p_token bigint, p_subject uuid[], p_project uuid[], p_kind text[], p_queue text[], p_priority integer[], p_version integer[], p_key text[], p_hash bytea[], p_head bigint[], p_chain bytea[], p_root bytea[], p_journal uuid[], p_at timestamp with time zone[], p_deadline timestamp with time zone[], p_ready boolean[], p_name text[], p_name_version text[], p_owner text[], p_status text[], p_definition text[], p_labels text[], p_traceparent text[], e_item integer[], e_seq bigint[], e_type text[], e_schema integer[], e_producer text[], e_at timestamp with time zone[], e_checksum bytea[], e_content bytea[], e_chain bytea[], e_payload text[], e_offloaded boolean[], t_item integer[], t_id text[], t_at timestamp with time zone[], x_item integer[], x_hash bytea[], p_grant uuid[]) OWNER TO acl_owner;

CREATE FUNCTION public.current_epoch() RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_base bigint;
  v_system bigint;
  v_here bigint := nullif(current_setting('acl.system_identifier', true), '')::bigint;
BEGIN
  IF v_here IS NULL THEN
    SELECT system_identifier INTO STRICT v_here FROM pg_control_system();
    PERFORM set_config('acl.system_identifier', v_here::text, false);
  END IF;
  SELECT base, system_identifier INTO STRICT v_base, v_system FROM fleet_epoch;
  IF v_system <> v_here THEN
    RAISE EXCEPTION 'no fencing token can be minted: this database was made on cluster % and is on % now (restored or copied)', v_system, v_here
      USING ERRCODE = 'AC004', HINT = 'run: airun db new-epoch [--above HIGHEST_TOKEN_EVER_SEEN]';
  END IF;
  RETURN v_base + ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
END $$;

ALTER FUNCTION public.current_epoch() OWNER TO acl_owner;

CREATE FUNCTION public.deliver_posts(p_max integer) RETURNS TABLE(to_subject uuid, holder uuid, queue text, dropped boolean)
    LANGUAGE plpgsql
    AS $$
DECLARE
  r record;
  v_payload text;
BEGIN
  FOR r IN SELECT o.* FROM outbox o WHERE o.topic LIKE 'post/%'
             AND NOT EXISTS (SELECT FROM outbox c WHERE c.topic LIKE 'create/%' AND c.key = o.key) ORDER BY o.outbox_id LIMIT p_max FOR UPDATE LOOP
    to_subject := r.key::uuid;
    -- hold: post_locked
    SELECT json_build_object('from', r.subject_id, 'head_seq', h.head_seq, 'state_root', encode(h.state_root, 'hex'), 'said', r.payload::json)::text
      INTO v_payload FROM subject_head h WHERE h.subject_id = r.subject_id;
    BEGIN
      SELECT p.holder, p.queue, false INTO holder, queue, dropped
        FROM post_inbox(to_subject, gen_random_uuid(), substr(r.topic, 6), v_payload, 'post:' || r.outbox_id, sha256(convert_to(v_payload, 'UTF8'))) p;
    EXCEPTION WHEN SQLSTATE 'AC002' OR SQLSTATE 'AC003' THEN
      holder := NULL;
      queue := NULL;
      dropped := true;
    END;
    DELETE FROM outbox o WHERE o.outbox_id = r.outbox_id;
    RETURN NEXT;
  END LOOP;
END $$;

ALTER FUNCTION public.deliver_posts(p_max integer) OWNER TO acl_owner;

CREATE FUNCTION public.drop_segments(p_keep_ms bigint, p_max integer) RETURNS TABLE(segments bigint, events bigint, more boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - p_keep_ms * interval '1 millisecond';
  v_segment record;
  v_offloaded bytea[];
  v_count bigint;
  v_seen int := 0;
BEGIN
  IF p_keep_ms < 3600000 THEN
    RAISE EXCEPTION 'journals are to be kept for an hour at least after they ended, not % ms', p_keep_ms USING ERRCODE = 'AC006';
  END IF;
  segments := 0;
  events := 0;
  FOR v_segment IN
    SELECT g.subject_id, g.first_seq FROM journal_segments g
    WHERE g.dropped_at IS NULL AND g.began_at < v_until
      AND EXISTS (SELECT FROM snapshot_rows x JOIN journal_rows e ON e.subject_id = x.subject_id AND e.seq = x.last_event_seq AND e.chain = x.chain
                  WHERE x.subject_id = g.subject_id AND x.last_event_seq = g.first_seq - 1 AND x.closing)
      AND (SELECT l.state FROM leases l WHERE l.subject_id = g.subject_id) <> 2
    ORDER BY g.began_at, g.subject_id, g.first_seq LIMIT p_max
  LOOP
    v_seen := v_seen + 1;
    PERFORM FROM leases l WHERE l.subject_id = v_segment.subject_id AND l.state <> 2 FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    -- hold: drop_locked
    UPDATE journal_segments g SET dropped_at = clock_timestamp()
      WHERE g.subject_id = v_segment.subject_id AND g.first_seq = v_segment.first_seq AND g.dropped_at IS NULL;
    CONTINUE WHEN NOT FOUND;
    INSERT INTO past_attempts (subject_id, step_id, attempt_id, token, started_at)
      SELECT e.subject_id, e.begun, e.begun_attempt, e.token, coalesce(e.begun_at, e.at) FROM journal_rows e
      WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq AND e.begun IS NOT NULL;
    INSERT INTO other_completions (subject_id, step_id, attempt_id, token, event_seq, completed_at, result_checksum)
      SELECT e.subject_id, e.completed, e.completed_attempt, e.token, e.seq, e.at, e.result_checksum FROM journal_rows e
      WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq AND e.completed IS NOT NULL;
    SELECT coalesce(array_agg(coalesce(e.content_hash, e.checksum)), '{}') INTO v_offloaded FROM journal_rows e
      WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq AND e.offloaded;
    DELETE FROM journal_rows e WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF cardinality(v_offloaded) > 0 THEN  -- as remove_contents
      DELETE FROM content_refs r WHERE r.hash = ANY (v_offloaded) AND r.subject_id = v_segment.subject_id
        AND NOT EXISTS (SELECT FROM event_rows e WHERE e.subject_id = v_segment.subject_id AND e.offloaded AND e.content_hash = r.hash);
      UPDATE contents c SET used_at = clock_timestamp() WHERE c.hash = ANY (v_offloaded) AND c.used_at IS NOT NULL;
    END IF;
    DELETE FROM snapshot_rows x WHERE x.subject_id = v_segment.subject_id AND x.last_event_seq < v_segment.first_seq - 1;
    WITH gone AS (DELETE FROM segment_refs r WHERE r.subject_id = v_segment.subject_id AND r.first_seq < v_segment.first_seq RETURNING r.hash),
    mine AS MATERIALIZED (
      SELECT c.hash FROM contents c WHERE c.hash IN (SELECT g.hash FROM gone g) AND c.used_at IS NOT NULL ORDER BY c.hash FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE contents c SET used_at = clock_timestamp() FROM mine m WHERE c.hash = m.hash;
    segments := segments + 1;
    events := events + v_count;
    EXIT WHEN events >= 20000;  -- no more in one transaction: the leases of all of them are locked meanwhile; one journal goes as a whole
  END LOOP;
  more := segments > 0 AND (v_seen = p_max OR events >= 20000);
  RETURN NEXT;
END $$;

ALTER FUNCTION public.drop_segments(p_keep_ms bigint, p_max integer) OWNER TO acl_owner;

CREATE FUNCTION public.due_ready(p_shard integer[], m_shard integer[], m_queue text[], m_priority integer[], m_at timestamp with time zone[], m_subject uuid[], p_max integer) RETURNS TABLE(queue text, priority smallint, ready_at timestamp with time zone, subject_id uuid, kind text, required_version integer, head_seq bigint, token bigint, db_now timestamp with time zone, traceparent text, shard integer)
    LANGUAGE plpgsql STABLE
    SET enable_sort TO 'off'
    AS $$
BEGIN
  RETURN QUERY
    SELECT d.queue, d.priority, d.ready_at, d.subject_id, d.kind, d.required_version,
           coalesce((SELECT h.head_seq FROM subject_head h WHERE h.subject_id = d.subject_id), 0),
           coalesce((SELECT l.token FROM leases l WHERE l.subject_id = d.subject_id), 0), now(),
           (SELECT s.traceparent FROM subjects s
            WHERE s.subject_id = coalesce((SELECT t.subject_id FROM dispatches t WHERE d.kind = 'dispatch' AND t.dispatch_id = d.subject_id), d.subject_id)),
           p.shard
    FROM ready_lanes() lane CROSS JOIN unnest(p_shard) AS p(shard)
    LEFT JOIN unnest(m_shard, m_queue, m_priority, m_at, m_subject) AS m(shard, queue, priority, at, subject)
      ON m.shard = p.shard AND m.queue = lane.queue AND m.priority = lane.priority
    CROSS JOIN LATERAL (
      SELECT r.* FROM ready r
      WHERE r.queue = lane.queue AND r.priority = lane.priority AND r.shard = p.shard
        AND (r.ready_at, r.subject_id) > (coalesce(m.at, '-infinity'), coalesce(m.subject, '00000000-0000-0000-0000-000000000000'::uuid))
        AND r.ready_at <= now()
      ORDER BY r.ready_at, r.subject_id LIMIT p_max) d;
END $$;

ALTER FUNCTION public.due_ready(p_shard integer[], m_shard integer[], m_queue text[], m_priority integer[], m_at timestamp with time zone[], m_subject uuid[], p_max integer) OWNER TO acl_owner;

CREATE FUNCTION public.event_uuid(p_subject uuid, p_seq bigint) RETURNS uuid
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT encode(set_byte(set_byte(h, 6, (get_byte(h, 6) & 15) | 128), 8, (get_byte(h, 8) & 63) | 128), 'hex')::uuid
  FROM substr(sha256(uuid_send(p_subject) || int8send(p_seq)), 1, 16) AS h
$$;

ALTER FUNCTION public.event_uuid(p_subject uuid, p_seq bigint) OWNER TO acl_owner;

CREATE FUNCTION public.finish_dispatch(p_dispatch uuid, p_token bigint, p_state text, p_payload text) RETURNS TABLE(replayed boolean, holder uuid, queue text)
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_dispatch dispatches;
  v_lease leases;
  v_subject subjects;
BEGIN
  SELECT * INTO v_dispatch FROM dispatches t WHERE t.dispatch_id = p_dispatch;   -- a candidate: no lock before the lease's
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no dispatch %', p_dispatch USING ERRCODE = 'AC003';
  END IF;
  -- hold: dispatch_found
  IF v_dispatch.state = 'started' AND v_dispatch.token = p_token THEN
    UPDATE leases l SET wake = l.wake + 1 WHERE l.subject_id = v_dispatch.subject_id AND l.state <> 1 RETURNING l.* INTO v_lease;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'subject % is closed', v_dispatch.subject_id USING ERRCODE = 'AC002';
    END IF;
    -- hold: dispatch_lease_raised
    UPDATE dispatches t SET state = p_state, ended_at = clock_timestamp(), payload = '' WHERE t.dispatch_id = p_dispatch AND t.state = 'started' AND t.token = p_token;
    IF FOUND THEN
      INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
        VALUES (v_dispatch.subject_id, p_dispatch, 'dispatch_result', p_payload, clock_timestamp(), v_lease.session_id);
      SELECT * INTO STRICT v_subject FROM subjects s WHERE s.subject_id = v_dispatch.subject_id;
      IF v_lease.session_id IS NULL AND v_lease.state = 0 THEN
        INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
          VALUES (v_subject.queue, v_subject.priority, ready_shard(v_subject.subject_id), clock_timestamp(), v_subject.subject_id, v_subject.kind, v_lease.required_version);
      END IF;
      RETURN QUERY SELECT false, v_lease.session_id, v_subject.queue;
      RETURN;
    END IF;
    SELECT * INTO STRICT v_dispatch FROM dispatches t WHERE t.dispatch_id = p_dispatch;   -- ended while we waited for the lease
  END IF;
  IF v_dispatch.state IN ('done', 'failed', 'cancelled') AND v_dispatch.token = p_token THEN
    RETURN QUERY SELECT true, l.session_id, s.queue FROM leases l JOIN subjects s USING (subject_id) WHERE l.subject_id = v_dispatch.subject_id;
    RETURN;
  END IF;
  RAISE EXCEPTION 'dispatch % of step "%" is % (its token is %, not %): its result is refused', p_dispatch, v_dispatch.step_id, v_dispatch.state, v_dispatch.token, p_token
    USING ERRCODE = 'AC001';
END $$;

ALTER FUNCTION public.finish_dispatch(p_dispatch uuid, p_token bigint, p_state text, p_payload text) OWNER TO acl_owner;

CREATE FUNCTION public.finish_object(p_key text, p_hash bytea, p_size bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE v_ours text;
BEGIN
  PERFORM 1 FROM object_marks m WHERE m.object_key = p_key AND NOT m.condemned FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- hold: object_finishing
  INSERT INTO contents AS c (hash, size, object_key, used_at) VALUES (p_hash, p_size, p_key, clock_timestamp())
    ON CONFLICT (hash) DO UPDATE SET used_at = CASE WHEN c.used_at IS NOT NULL THEN clock_timestamp() END
    RETURNING c.object_key INTO v_ours;
  IF v_ours IS NOT DISTINCT FROM p_key THEN
    DELETE FROM object_marks m WHERE m.object_key = p_key;
  ELSE
    UPDATE object_marks m SET condemned = true WHERE m.object_key = p_key;
  END IF;
  RETURN true;
END $$;

ALTER FUNCTION public.finish_object(p_key text, p_hash bytea, p_size bigint) OWNER TO acl_owner;

CREATE FUNCTION public.fire_timers(p_max integer) RETURNS TABLE(fired bigint, next_fire timestamp with time zone, more boolean)
    LANGUAGE plpgsql
    SET enable_sort TO 'off'
    AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_subjects uuid[];
  v_ids text[];
  v_locked uuid[];
  v_gone uuid[];
  v_gone_ids text[];
  v_gone_at timestamptz[];
  v_fired bigint;
BEGIN
  SELECT array_agg(c.subject_id), array_agg(c.timer_id) INTO v_subjects, v_ids
    FROM (SELECT t.subject_id, t.timer_id FROM timers t WHERE t.fire_at <= v_now ORDER BY t.fire_at LIMIT p_max) c;
  -- hold: timers_chosen
  SELECT coalesce(array_agg(l.subject_id), '{}') INTO v_locked
    FROM (SELECT DISTINCT c.id FROM unnest(v_subjects) AS c(id) ORDER BY c.id) c
    CROSS JOIN LATERAL (SELECT x.subject_id FROM leases x WHERE x.subject_id = c.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) l;
  -- hold: timers_locked
  -- A keeping commit, which holds its lease beside ours, may be clearing or setting one: that one is its. What we have keeps its place.
  WITH gone AS (
    DELETE FROM timers t WHERE t.ctid = ANY (ARRAY(
        SELECT x.place FROM unnest(v_subjects, v_ids) AS c(subject, id)
        CROSS JOIN LATERAL (SELECT y.ctid AS place FROM timers y WHERE y.subject_id = c.subject AND y.timer_id = c.id LIMIT 1 FOR UPDATE SKIP LOCKED) x
        WHERE c.subject = ANY (v_locked)))
      AND t.fire_at <= v_now
    RETURNING t.subject_id, t.timer_id, t.fire_at)
  SELECT array_agg(g.subject_id ORDER BY g.fire_at, g.timer_id), array_agg(g.timer_id ORDER BY g.fire_at, g.timer_id),
         array_agg(g.fire_at ORDER BY g.fire_at, g.timer_id)
    INTO v_gone, v_gone_ids, v_gone_at FROM gone g;
  WITH woken AS (
    UPDATE leases l SET wake = l.wake + cardinality(array_positions(v_gone, l.subject_id))
    WHERE l.subject_id = ANY (v_gone) AND l.state <> 1
    RETURNING l.subject_id, l.session_id, l.state, l.required_version),
  told AS (
    INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
    SELECT w.subject_id, gen_random_uuid(), 'timer',
           json_build_object('timer_id', v_gone_ids[n], 'fire_at', to_char(v_gone_at[n] AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text, v_now, w.session_id
    FROM woken w, unnest(array_positions(v_gone, w.subject_id)) n ORDER BY n RETURNING 1),
  readied AS (
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), v_now, s.subject_id, s.kind, w.required_version
    FROM woken w CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = w.subject_id LIMIT 1) s WHERE w.session_id IS NULL AND w.state = 0
    ON CONFLICT DO NOTHING RETURNING 1)
  SELECT count(*) INTO v_fired FROM told;
  RETURN QUERY SELECT v_fired, (SELECT t.fire_at FROM timers t ORDER BY t.fire_at LIMIT 1), coalesce(cardinality(v_ids), 0) = p_max AND v_fired > 0;
END $$;

ALTER FUNCTION public.fire_timers(p_max integer) OWNER TO acl_owner;

CREATE FUNCTION public.first_token() RETURNS bigint
    LANGUAGE sql
    AS $$ SELECT (current_epoch() << 32) + 1 $$;

ALTER FUNCTION public.first_token() OWNER TO acl_owner;

CREATE FUNCTION public.grant_begun(p_session uuid, p_queues text[], p_max integer, p_version integer, p_kinds text[], p_min_age_ms bigint, p_dispatches integer) RETURNS public.granted
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION public.grant_begun(p_session uuid, p_queues text[], p_max integer, p_version integer, p_kinds text[], p_min_age_ms bigint, p_dispatches integer) OWNER TO acl_owner;

CREATE FUNCTION public.grant_named(p_session uuid, k_queue text[], k_priority integer[], k_shard integer[], k_at timestamp with time zone[], k_subject uuid[], p_version integer, p_kinds text[], p_dispatches integer, k_released bigint[]) RETURNS public.granted
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_place tid[];
  v_id uuid[];
  v_dispatch boolean[];
  v_at timestamptz[];
  v_deaths int[];
  v_suspects record;
  v_admitted uuid[] := '{}';
BEGIN
  PERFORM lock_live_session(p_session);
  SELECT coalesce(array_agg(x.place), '{}'), coalesce(array_agg(x.id), '{}'), coalesce(array_agg(x.dispatch), '{}'), array_agg(x.ready_at), array_agg(x.deaths)
    INTO v_place, v_id, v_dispatch, v_at, v_deaths
    FROM (SELECT DISTINCT k.queue, k.priority, k.shard, k.at, k.subject FROM unnest(k_queue, k_priority, k_shard, k_at, k_subject) AS k(queue, priority, shard, at, subject)
          ORDER BY 5, 1, 2, 3, 4) k
    CROSS JOIN LATERAL (
      SELECT r.ctid AS place, r.subject_id AS id, r.kind = 'dispatch' AS dispatch, r.ready_at, r.deaths FROM ready r
      WHERE r.queue = k.queue AND r.priority = k.priority AND r.shard = k.shard AND r.ready_at = k.at AND r.subject_id = k.subject
        AND r.ready_at <= clock_timestamp() AND r.required_version <= p_version
        AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
      FOR UPDATE OF r SKIP LOCKED) x;
  -- A message that names a suspect brings as many as it names, the worst that wait first, if this session may have them now.
  IF 0 < ANY (v_deaths) THEN
    SELECT p.place, p.id, p.dispatch INTO v_suspects
      FROM pick_suspects(p_session, ARRAY(SELECT DISTINCT q.queue FROM unnest(k_queue) AS q(queue)),
                         (SELECT count(*)::int FROM unnest(v_deaths) AS d(deaths) WHERE d.deaths > 0), p_version, p_kinds, clock_timestamp(), p_dispatches) p;
    v_admitted := v_suspects.id;
    p_dispatches := p_dispatches - cardinality(array_positions(v_suspects.dispatch, true));
    SELECT coalesce(array_agg(v.place), '{}'), coalesce(array_agg(v.id), '{}'), coalesce(array_agg(v.dispatch), '{}'), array_agg(v.at) INTO v_place, v_id, v_dispatch, v_at
      FROM unnest(v_place, v_id, v_dispatch, v_at, v_deaths) AS v(place, id, dispatch, at, deaths) WHERE v.deaths = 0 AND v.id <> ALL (v_admitted);
  END IF;
  IF true = ANY (v_dispatch) THEN  -- beyond the room for them they stay where they are
    SELECT coalesce(array_agg(u.place), '{}'), coalesce(array_agg(u.id), '{}'), coalesce(array_agg(u.dispatch), '{}') INTO v_place, v_id, v_dispatch
      FROM (SELECT v.*, row_number() OVER (PARTITION BY v.dispatch ORDER BY v.at, v.id) AS n FROM unnest(v_place, v_id, v_dispatch, v_at) AS v(place, id, dispatch, at)) u
      WHERE NOT u.dispatch OR u.n <= p_dispatches;
  END IF;
  -- hold: claim_keys_locked
  IF cardinality(v_admitted) > 0 THEN
    RETURN grant_rows(p_session, v_suspects.place || v_place, v_suspects.id || v_id, v_suspects.dispatch || v_dispatch, cardinality(k_subject)::bigint - cardinality(v_id),
                      k_subject, k_released, v_admitted);
  END IF;
  RETURN grant_rows(p_session, v_place, v_id, v_dispatch, cardinality(k_subject)::bigint - cardinality(v_id), k_subject, k_released);
END $$;

ALTER FUNCTION public.grant_named(p_session uuid, k_queue text[], k_priority integer[], k_shard integer[], k_at timestamp with time zone[], k_subject uuid[], p_version integer, p_kinds text[], p_dispatches integer, k_released bigint[]) OWNER TO acl_owner;

CREATE FUNCTION public.grant_rows(p_session uuid, p_place tid[], p_id uuid[], p_dispatch boolean[], p_missing bigint, k_subject uuid[] DEFAULT '{}'::uuid[], k_released bigint[] DEFAULT '{}'::bigint[], p_admitted uuid[] DEFAULT '{}'::uuid[]) RETURNS public.granted
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_locked uuid[];            -- leases we have, in ascending order
  v_open uuid[];              -- of them, free and open
  v_before bigint[];          -- tokens of the open before this grant
  v_tokens bigint[];
  v_wakes bigint[];
  v_ends smallint[];
  v_heads bigint[];
  v_without_progress int[];             -- deaths of workers in a row since the last completed step, this one included
  v_alone int[];              -- of them, those for which it alone is to blame
  v_refused uuid[];           -- suspects for which there is no room
  v_sticky boolean[];
  v_poisoned bigint := 0;
  v_dropped bigint := 0;
  v_dispatches uuid[] := '{}';     -- dispatch rows we have
  v_dispatch_tokens bigint[];
  v_dispatch_deaths int[];        -- dispatches of their steps that were lost before
  v_taken uuid[] := '{}';     -- of them, granted
  v_now timestamptz := clock_timestamp();
BEGIN
  SELECT coalesce(array_agg(l.subject_id), '{}'), coalesce(array_agg(l.subject_id) FILTER (WHERE l.open), '{}'), array_agg(l.token) FILTER (WHERE l.open),
         array_agg(l.wake) FILTER (WHERE l.open), array_agg(l.last_end) FILTER (WHERE l.open)
    INTO v_locked, v_open, v_before, v_wakes, v_ends
    FROM (SELECT DISTINCT w.id FROM unnest(p_id, p_dispatch) AS w(id, dispatch) WHERE NOT w.dispatch ORDER BY w.id) w
    CROSS JOIN LATERAL (SELECT x.subject_id, x.token, x.wake, x.last_end, x.session_id IS NULL AND x.state = 0 AS open
                        FROM leases x WHERE x.subject_id = w.id LIMIT 1 FOR UPDATE SKIP LOCKED) l;
  -- hold: claim_leases_locked

  IF cardinality(v_open) > 0 THEN
    v_tokens := mint_tokens(v_before);
    -- Deaths of workers in a row. What its last holder gave up by its own will is acquitted, and so is what completed a step since the last grant.
    SELECT coalesce(array_agg(v_open[n]), '{}'), array_agg(v_tokens[n]), array_agg(v_wakes[n]), array_agg(h.head_seq),
           array_agg(CASE WHEN v_ends[n] = 0 OR g.head_seq IS NULL THEN 0
                          ELSE CASE WHEN g.takeovers_without_progress > 0 AND g.head_seq <> h.head_seq AND completed_since(v_open[n], g.head_seq) THEN 0 ELSE g.takeovers_without_progress END
                               + (v_ends[n] <> 2)::int END),
           array_agg(CASE WHEN v_ends[n] = 0 OR g.head_seq IS NULL OR g.alone = 0 AND v_ends[n] <> 3 THEN 0
                          ELSE CASE WHEN g.head_seq <> h.head_seq AND completed_since(v_open[n], g.head_seq) THEN 0 ELSE g.alone END
                               + (v_ends[n] = 3)::int END),
           array_agg(coalesce(v_before[n] = k_released[array_position(k_subject, v_open[n])], false))
      INTO v_open, v_tokens, v_wakes, v_heads, v_without_progress, v_alone, v_sticky
      FROM generate_subscripts(v_open, 1) n
      CROSS JOIN LATERAL (SELECT x.head_seq FROM subject_head x WHERE x.subject_id = v_open[n] LIMIT 1) h
      LEFT JOIN LATERAL (SELECT x.head_seq, x.takeovers_without_progress, x.alone FROM lease_history x WHERE x.subject_id = v_open[n] ORDER BY x.token DESC LIMIT 1) g ON true;
  END IF;
  IF cardinality(v_locked) > cardinality(v_open) THEN
    SELECT count(*) INTO v_dropped FROM unnest(p_id) AS d(id) WHERE d.id = ANY (v_locked) AND NOT d.id = ANY (v_open);
  END IF;

  -- What killed five workers alone, and had no step that its holder could have failed; or six, whatever it had.
  IF 5 <= ANY (v_alone) THEN
    WITH bad AS (
      SELECT v_open[n] AS id, v_without_progress[n] AS takeovers_without_progress, v_alone[n] AS alone, v_heads[n] AS head FROM generate_subscripts(v_open, 1) n
      WHERE v_alone[n] >= 6 OR v_alone[n] = 5 AND (
        SELECT a.step_id FROM attempt_rows a WHERE a.subject_id = v_open[n]
          AND (SELECT c.attempt_id FROM completion_rows c WHERE c.subject_id = a.subject_id AND c.step_id = a.step_id) IS NULL LIMIT 1) IS NULL),
    closed AS (UPDATE leases l SET state = 2, waiting_reason = NULL, waiting_since = NULL, next_wake = NULL FROM bad WHERE l.subject_id = bad.id RETURNING l.subject_id),
    told AS (INSERT INTO quarantine (subject_id, reason, detail, at)
      SELECT id, 'kills_its_worker', format('%s workers died while it was the only suspect on them, %s in all; no step completed between, the journal stands at event %s',
                                            alone, takeovers_without_progress, head), v_now FROM bad
      RETURNING subject_id)
    SELECT count(*), array_agg(c.subject_id) INTO v_poisoned, v_refused FROM closed c;
    SELECT coalesce(array_agg(v_open[n]), '{}'), array_agg(v_tokens[n]), array_agg(v_wakes[n]), array_agg(v_heads[n]), array_agg(v_without_progress[n]), array_agg(v_alone[n]), array_agg(v_sticky[n])
      INTO v_open, v_tokens, v_wakes, v_heads, v_without_progress, v_alone, v_sticky FROM generate_subscripts(v_open, 1) n WHERE v_open[n] <> ALL (coalesce(v_refused, '{}'));
  END IF;
  -- A suspect that was not admitted stays ready, and is granted with care from now on.
  IF 2 <= ANY (v_without_progress) THEN
    v_refused := ARRAY(SELECT v_open[n] FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] >= 2 AND v_open[n] <> ALL (p_admitted));
    IF cardinality(v_refused) > 0 THEN
      UPDATE ready r SET deaths = v_without_progress[array_position(v_open, r.subject_id)] WHERE r.ctid = ANY (p_place) AND r.subject_id = ANY (v_refused);
      SELECT coalesce(array_agg(v_open[n]), '{}'), array_agg(v_tokens[n]), array_agg(v_wakes[n]), array_agg(v_heads[n]), array_agg(v_without_progress[n]), array_agg(v_alone[n]), array_agg(v_sticky[n])
        INTO v_open, v_tokens, v_wakes, v_heads, v_without_progress, v_alone, v_sticky FROM generate_subscripts(v_open, 1) n WHERE v_open[n] <> ALL (v_refused);
      SELECT coalesce(array_agg(d.place), '{}'), coalesce(array_agg(d.id), '{}'), coalesce(array_agg(d.dispatch), '{}') INTO p_place, p_id, p_dispatch
        FROM unnest(p_place, p_id, p_dispatch) AS d(place, id, dispatch) WHERE d.id <> ALL (v_refused);
      v_locked := ARRAY(SELECT l.id FROM unnest(v_locked) AS l(id) WHERE l.id <> ALL (v_refused));
    END IF;
  END IF;

  UPDATE leases l SET token = v_tokens[array_position(v_open, l.subject_id)], session_id = p_session, acquired_at = v_now, last_end = 0, not_before = NULL,
                      waiting_reason = NULL, waiting_since = NULL, next_wake = NULL, deaths = v_without_progress[array_position(v_open, l.subject_id)]
    WHERE l.subject_id = ANY (v_open);
  INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, alone, granted_at)
    SELECT g.id, g.token, p_session, g.head, g.takeovers_without_progress, g.alone, v_now FROM unnest(v_open, v_tokens, v_heads, v_without_progress, v_alone) AS g(id, token, head, takeovers_without_progress, alone);

  IF cardinality(v_locked) = cardinality(p_id) THEN  -- each a subject's only row, and none skipped
    DELETE FROM ready r WHERE r.ctid = ANY (p_place);
  ELSE
    -- Dispatches behind the leases, in the order of locks. Their ends have the lease and wait for the dispatch, so nothing here waits for one. The token
    -- grows over the attempts of a step.
    IF true = ANY (p_dispatch) THEN
      SELECT coalesce(array_agg(t.dispatch_id ORDER BY t.dispatch_id), '{}'), mint_tokens(array_agg(t.before ORDER BY t.dispatch_id)), array_agg(t.lost ORDER BY t.dispatch_id),
             coalesce(array_agg(t.dispatch_id) FILTER (WHERE t.lost >= 2 AND t.waits AND t.dispatch_id <> ALL (p_admitted)), '{}')
        INTO v_dispatches, v_dispatch_tokens, v_dispatch_deaths, v_refused
        FROM (SELECT x.dispatch_id, x.state = 'queued' AND NOT x.cancel_requested AS waits, o.before, o.lost
              FROM dispatches x CROSS JOIN LATERAL (SELECT coalesce(max(y.token), 0) AS before, count(*) FILTER (WHERE y.state = 'lost')::int AS lost FROM dispatches y
                                               WHERE y.subject_id = x.subject_id AND y.step_id = x.step_id) o
              WHERE x.dispatch_id = ANY (ARRAY(SELECT d.id FROM unnest(p_id, p_dispatch) AS d(id, dispatch) WHERE d.dispatch)) ORDER BY x.dispatch_id FOR UPDATE OF x SKIP LOCKED) t;
      -- hold: claim_dispatches_locked
      IF cardinality(v_refused) > 0 THEN
        UPDATE ready r SET deaths = v_dispatch_deaths[array_position(v_dispatches, r.subject_id)] WHERE r.ctid = ANY (p_place) AND r.subject_id = ANY (v_refused);
        SELECT coalesce(array_agg(v_dispatches[n]), '{}'), array_agg(v_dispatch_tokens[n]), array_agg(v_dispatch_deaths[n]) INTO v_dispatches, v_dispatch_tokens, v_dispatch_deaths
          FROM generate_subscripts(v_dispatches, 1) n WHERE v_dispatches[n] <> ALL (v_refused);
      END IF;
      WITH taken AS (
        UPDATE dispatches t SET state = 'started', token = v_dispatch_tokens[n], session_id = p_session, started_at = v_now, deaths = v_dispatch_deaths[n]
          FROM generate_subscripts(v_dispatches, 1) n WHERE t.dispatch_id = v_dispatches[n] AND t.state = 'queued' AND NOT t.cancel_requested RETURNING t.dispatch_id)
      SELECT coalesce(array_agg(k.dispatch_id), '{}') INTO v_taken FROM taken k;
    END IF;
    -- A dispatch that is no more: the scalar subquery has no hashed form, which would read the whole table.
    DELETE FROM ready r WHERE r.ctid = ANY (ARRAY(
      SELECT d.place FROM unnest(p_place, p_id, p_dispatch) AS d(place, id, dispatch)
      WHERE d.id = ANY (v_locked) OR d.id = ANY (v_dispatches) OR d.dispatch AND (SELECT t.dispatch_id FROM dispatches t WHERE t.dispatch_id = d.id) IS NULL));
  END IF;
  -- hold: claim_token_raised
  RETURN (v_now, v_open, v_tokens, v_wakes, v_without_progress, v_sticky, v_taken, v_dropped + cardinality(v_dispatches) - cardinality(v_taken), v_poisoned, p_missing)::granted;
END $$;

ALTER FUNCTION public.grant_rows(p_session uuid, p_place tid[], p_id uuid[], p_dispatch boolean[], p_missing bigint, k_subject uuid[], k_released bigint[], p_admitted uuid[]) OWNER TO acl_owner;

CREATE FUNCTION public.grant_waiting(p_session uuid, p_queues text[], p_max integer, p_version integer, p_kinds text[], p_min_age_ms bigint, p_dispatches integer) RETURNS public.granted
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - p_min_age_ms * interval '1 millisecond';
  v_place tid[];
  v_id uuid[];
  v_dispatch boolean[];
  v_more record;
  v_admitted uuid[] := '{}';
  v_suspects record;
BEGIN
  PERFORM lock_live_session(p_session);
  SELECT p.place, p.id, p.dispatch INTO v_suspects FROM pick_suspects(p_session, p_queues, p_max, p_version, p_kinds, v_until, p_dispatches) p;
  IF cardinality(v_suspects.id) > 0 THEN
    v_admitted := v_suspects.id;
    p_max := p_max - cardinality(v_admitted);
    p_dispatches := p_dispatches - cardinality(array_positions(v_suspects.dispatch, true));
  END IF;
  SELECT p.place, p.id, p.dispatch INTO v_place, v_id, v_dispatch FROM pick_places(p_queues, p_max, p_version, p_kinds, v_until, p_dispatches, v_admitted) p;
  -- Dispatches for which there is no room may have stood before others.
  IF p_dispatches > 0 AND cardinality(v_id) < p_max AND p_dispatches <= cardinality(array_positions(v_dispatch, true)) THEN
    SELECT p.place, p.id, p.dispatch INTO v_more FROM pick_places(p_queues, p_max - cardinality(v_id), p_version, p_kinds, v_until, 0, v_id || v_admitted) p;
    v_place := v_place || v_more.place;
    v_id := v_id || v_more.id;
    v_dispatch := v_dispatch || v_more.dispatch;
  END IF;
  IF cardinality(v_id) > p_max THEN
    RAISE EXCEPTION 'claimed % ready rows for a limit of %', cardinality(v_id), p_max USING ERRCODE = 'AC006';
  END IF;
  IF cardinality(v_admitted) > 0 THEN
    v_place := v_suspects.place || v_place;
    v_id := v_suspects.id || v_id;
    v_dispatch := v_suspects.dispatch || v_dispatch;
  END IF;
  -- hold: claim_ready_locked
  RETURN grant_rows(p_session, v_place, v_id, v_dispatch, NULL, '{}', '{}', v_admitted);
END $$;

ALTER FUNCTION public.grant_waiting(p_session uuid, p_queues text[], p_max integer, p_version integer, p_kinds text[], p_min_age_ms bigint, p_dispatches integer) OWNER TO acl_owner;

CREATE FUNCTION public.guard_lease() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT FROM subjects WHERE subject_id = OLD.subject_id) THEN
      RAISE EXCEPTION 'DELETE of a lease is refused while its subject % exists', OLD.subject_id USING ERRCODE = '42501';
    END IF;
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'the token of % may only grow: % after %', OLD.subject_id, NEW.token, OLD.token USING ERRCODE = '42501';
END $$;

ALTER FUNCTION public.guard_lease() OWNER TO acl_owner;

CREATE FUNCTION public.has_lease(p_subject uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
  RETURN coalesce((SELECT true FROM leases l WHERE l.subject_id = p_subject), false);
END $$;

ALTER FUNCTION public.has_lease(p_subject uuid) OWNER TO acl_owner;

CREATE FUNCTION public.has_suspect(p_session uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
  RETURN (SELECT l.subject_id FROM leases l WHERE l.session_id = p_session AND l.deaths >= 2 LIMIT 1) IS NOT NULL
      OR (SELECT t.dispatch_id FROM dispatches t WHERE t.session_id = p_session AND t.state = 'started' AND t.deaths >= 2 LIMIT 1) IS NOT NULL;
END $$;

ALTER FUNCTION public.has_suspect(p_session uuid) OWNER TO acl_owner;

CREATE FUNCTION public.heartbeat_session(p_session uuid, p_ttl_ms bigint) RETURNS TABLE(db_now timestamp with time zone, woken uuid, unwanted uuid)
    LANGUAGE plpgsql
    AS $$
DECLARE v_now timestamptz;
BEGIN
  PERFORM 1 FROM worker_sessions s WHERE s.session_id = p_session FOR NO KEY UPDATE;
  -- hold: heartbeat_locked
  v_now := clock_timestamp();
  UPDATE worker_sessions s SET heartbeat_at = v_now, expires_at = v_now + p_ttl_ms * interval '1 millisecond'
    WHERE s.session_id = p_session AND s.dead_at IS NULL AND s.expires_at > v_now;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'session % is expired or dead', p_session USING ERRCODE = 'AC001';
  END IF;
  RETURN QUERY SELECT v_now, NULL::uuid, NULL::uuid;
  RETURN QUERY SELECT DISTINCT v_now, i.subject_id, NULL::uuid FROM inbox i WHERE i.session_id = p_session;
  RETURN QUERY SELECT v_now, NULL::uuid, t.dispatch_id FROM dispatches t WHERE t.session_id = p_session AND t.state = 'started' AND t.cancel_requested;
END $$;

ALTER FUNCTION public.heartbeat_session(p_session uuid, p_ttl_ms bigint) OWNER TO acl_owner;

CREATE FUNCTION public.hold_leader_lease(p_name text, p_session uuid, p_ttl_ms bigint) RETURNS TABLE(held_token bigint, held_until timestamp with time zone)
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_row leader_leases;
  v_now timestamptz;
BEGIN
  SELECT * INTO v_row FROM leader_leases l WHERE l.name = p_name FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    INSERT INTO leader_leases (name, session_id, token, acquired_at, expires_at)
      SELECT p_name, p_session, (mint_tokens(ARRAY[0]::bigint[]))[1], n, n + p_ttl_ms * interval '1 millisecond' FROM clock_timestamp() n
      ON CONFLICT (name) DO NOTHING;
    IF FOUND THEN
      RETURN QUERY SELECT l.token, l.expires_at FROM leader_leases l WHERE l.name = p_name;
    END IF;
    RETURN;
  END IF;
  -- hold: leader_lease_locked
  v_now := clock_timestamp();
  IF v_row.session_id = p_session AND v_row.expires_at > v_now
    AND NOT EXISTS (SELECT FROM worker_sessions w WHERE w.session_id = p_session AND w.dead_at IS NOT NULL) THEN
    RETURN QUERY UPDATE leader_leases l SET expires_at = v_now + p_ttl_ms * interval '1 millisecond' WHERE l.name = p_name
      RETURNING l.token, l.expires_at;
  ELSIF v_row.expires_at <= v_now OR EXISTS (SELECT FROM worker_sessions w WHERE w.session_id = v_row.session_id AND w.dead_at IS NOT NULL) THEN
    RETURN QUERY UPDATE leader_leases l SET session_id = p_session, token = (mint_tokens(ARRAY[v_row.token]))[1], acquired_at = v_now,
      expires_at = v_now + p_ttl_ms * interval '1 millisecond' WHERE l.name = p_name RETURNING l.token, l.expires_at;
  END IF;
END $$;

ALTER FUNCTION public.hold_leader_lease(p_name text, p_session uuid, p_ttl_ms bigint) OWNER TO acl_owner;

CREATE FUNCTION public.hold_leader_leases(p_names text[], p_session uuid, p_ttl_ms bigint) RETURNS TABLE(job_name text, held_token bigint, held_until timestamp with time zone)
    LANGUAGE plpgsql
    AS $$
DECLARE v_name text;
BEGIN
  FOR v_name IN SELECT DISTINCT n FROM unnest(p_names) n ORDER BY n LOOP   -- in one order, so that two processes do not wait for each other in a ring
    RETURN QUERY SELECT v_name, h.held_token, h.held_until FROM hold_leader_lease(v_name, p_session, p_ttl_ms) h;
  END LOOP;
END $$;

ALTER FUNCTION public.hold_leader_leases(p_names text[], p_session uuid, p_ttl_ms bigint) OWNER TO acl_owner;

CREATE FUNCTION public.insert_event_row() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO journal_rows (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, chain, payload, offloaded,
                            completed, completed_attempt, result_checksum, begun, begun_attempt, begun_at)
    VALUES (NEW.subject_id, NEW.seq, NEW.journal_id, NEW.type, NEW.schema_version, NEW.producer_version, NEW.token, NEW.at, NEW.checksum,
            nullif(NEW.content_hash, NEW.checksum), NEW.chain, NEW.payload, NEW.offloaded, NEW.completed, NEW.completed_attempt, NEW.result_checksum,
            NEW.begun, NEW.begun_attempt, NEW.begun_at);
  RETURN NEW;
END $$;

ALTER FUNCTION public.insert_event_row() OWNER TO acl_owner;

CREATE FUNCTION public.insert_other() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF TG_TABLE_NAME = 'attempt_rows' THEN
    IF EXISTS (SELECT FROM event_rows e WHERE e.subject_id = NEW.subject_id AND e.begun = NEW.step_id AND e.begun_attempt = NEW.attempt_id) THEN
      RAISE EXCEPTION 'attempt % of step % of % was made before', NEW.attempt_id, NEW.step_id, NEW.subject_id USING ERRCODE = '23505';
    END IF;
    INSERT INTO other_attempts (subject_id, step_id, attempt_id, token, started_at)
      VALUES (NEW.subject_id, NEW.step_id, NEW.attempt_id, NEW.token, NEW.started_at);
  ELSE
    IF EXISTS (SELECT FROM event_rows e WHERE e.subject_id = NEW.subject_id AND e.completed = NEW.step_id) THEN
      RAISE EXCEPTION 'step % of % was completed before', NEW.step_id, NEW.subject_id USING ERRCODE = '23505';
    END IF;
    INSERT INTO other_completions (subject_id, step_id, attempt_id, token, event_seq, completed_at, result_checksum)
      VALUES (NEW.subject_id, NEW.step_id, NEW.attempt_id, NEW.token, NEW.event_seq, NEW.completed_at, NEW.result_checksum);
  END IF;
  RETURN NEW;
END $$;

ALTER FUNCTION public.insert_other() OWNER TO acl_owner;

CREATE FUNCTION public.json_of(p_text text) RETURNS json
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
  RETURN p_text::json;
EXCEPTION WHEN invalid_text_representation OR untranslatable_character THEN
  RETURN NULL;
END $$;

ALTER FUNCTION public.json_of(p_text text) OWNER TO acl_owner;

CREATE FUNCTION public.keep_closing_snapshot() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RETURN CASE WHEN current_user = 'acl_owner' THEN OLD END;
END $$;

ALTER FUNCTION public.keep_closing_snapshot() OWNER TO acl_owner;

CREATE FUNCTION public.lock_live_session(p_session uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM 1 FROM worker_sessions s WHERE s.session_id = p_session AND s.dead_at IS NULL FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'session % is dead or unknown', p_session USING ERRCODE = 'AC001';
  END IF;
  -- hold: claim_session_locked
END $$;

ALTER FUNCTION public.lock_live_session(p_session uuid) OWNER TO acl_owner;

CREATE FUNCTION public.mint_tokens(p_old bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_first bigint := (current_epoch() << 32) + 1;
  v_new bigint[];
BEGIN
  SELECT array_agg(greatest(old + 1, v_first) ORDER BY n) INTO v_new FROM unnest(p_old) WITH ORDINALITY AS o(old, n);
  IF 9007199254740992 <= ANY (v_new) THEN
    RAISE EXCEPTION 'fencing tokens are used up (2^53): %', v_new USING ERRCODE = 'AC006';
  END IF;
  RETURN v_new;
END $$;

ALTER FUNCTION public.mint_tokens(p_old bigint[]) OWNER TO acl_owner;

CREATE FUNCTION public.new_epoch(p_above bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE v_base bigint;
BEGIN
  UPDATE fleet_epoch SET
    base = greatest(base + 64, 64 * (current_date - date '2020-01-01')::bigint, (coalesce(p_above, 0) >> 32) + 1),
    system_identifier = (SELECT system_identifier FROM pg_control_system()), changed_at = clock_timestamp()
  RETURNING base INTO STRICT v_base;
  RETURN v_base;
END $$;

ALTER FUNCTION public.new_epoch(p_above bigint) OWNER TO acl_owner;

CREATE FUNCTION public.open_attempts(p_subject uuid) RETURNS TABLE(step_id text, attempt_id integer, token bigint, started_at timestamp with time zone, beside boolean)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
DECLARE v_first bigint := (SELECT h.journal_first FROM subject_head h WHERE h.subject_id = p_subject);
BEGIN
  RETURN QUERY SELECT a.step, a.attempt, a.token, a.since, a.beside FROM (
      SELECT r.begun AS step, r.begun_attempt AS attempt, r.token, coalesce(r.begun_at, r.at) AS since, false AS beside FROM journal_rows r
      WHERE r.subject_id = p_subject AND r.seq >= coalesce(v_first, 1) AND coalesce(r.begun, '') <> ''
      UNION ALL
      SELECT o.step, o.attempt, o.token, o.since, false FROM journal_segments g
        CROSS JOIN LATERAL unnest(g.open_steps, g.open_attempts, g.open_tokens, g.open_since) AS o(step, attempt, token, since)
      WHERE g.subject_id = p_subject AND g.first_seq = v_first
      UNION ALL
      SELECT o.step_id, o.attempt_id, o.token, o.started_at, true FROM other_attempts o WHERE o.subject_id = p_subject) a
    WHERE (SELECT c.attempt_id FROM completion_rows c WHERE c.subject_id = p_subject AND c.step_id = a.step) IS NULL;
END $$;

ALTER FUNCTION public.open_attempts(p_subject uuid) OWNER TO acl_owner;

CREATE FUNCTION public.open_command(p_subject uuid, p_known bigint, p_takes_inbox boolean, p_keys text[]) RETURNS TABLE(part integer, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, n5 bigint, n6 bigint, u1 uuid, u2 uuid, t1 text, t2 text, t3 text, t4 text, b1 bytea, b2 bytea, b3 bytea, b4 bytea, at1 timestamp with time zone)
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION public.open_command(p_subject uuid, p_known bigint, p_takes_inbox boolean, p_keys text[]) OWNER TO acl_owner;

CREATE FUNCTION public.payload_text(p_payload text, p_offloaded boolean, p_hash bytea) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  SELECT CASE WHEN p_offloaded THEN (SELECT convert_from(string_agg(c.bytes, ''::bytea ORDER BY c.number), 'UTF8') FROM content_chunks c WHERE c.hash = p_hash)
              ELSE p_payload END
$$;

ALTER FUNCTION public.payload_text(p_payload text, p_offloaded boolean, p_hash bytea) OWNER TO acl_owner;

CREATE FUNCTION public.pick_lanes(p_begun boolean[], p_queues text[], p_max integer, p_version integer, p_kinds text[], p_until timestamp with time zone, p_dispatches integer, p_without uuid[], OUT place tid[], OUT id uuid[], OUT dispatch boolean[]) RETURNS record
    LANGUAGE plpgsql
    SET enable_sort TO 'off'
    AS $$
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

ALTER FUNCTION public.pick_lanes(p_begun boolean[], p_queues text[], p_max integer, p_version integer, p_kinds text[], p_until timestamp with time zone, p_dispatches integer, p_without uuid[], OUT place tid[], OUT id uuid[], OUT dispatch boolean[]) OWNER TO acl_owner;

CREATE FUNCTION public.pick_places(p_queues text[], p_max integer, p_version integer, p_kinds text[], p_until timestamp with time zone, p_dispatches integer, p_without uuid[], OUT place tid[], OUT id uuid[], OUT dispatch boolean[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_begun boolean[] := CASE WHEN NOT begun_waits(p_queues, p_until) THEN ARRAY[false] WHEN random() < 0.25 THEN ARRAY[false, true] ELSE ARRAY[true, false] END;
BEGIN
  SELECT p.place, p.id, p.dispatch INTO place, id, dispatch FROM pick_lanes(v_begun, p_queues, p_max, p_version, p_kinds, p_until, p_dispatches, p_without) p;
END $$;

ALTER FUNCTION public.pick_places(p_queues text[], p_max integer, p_version integer, p_kinds text[], p_until timestamp with time zone, p_dispatches integer, p_without uuid[], OUT place tid[], OUT id uuid[], OUT dispatch boolean[]) OWNER TO acl_owner;

CREATE FUNCTION public.pick_suspects(p_session uuid, p_queues text[], p_max integer, p_version integer, p_kinds text[], p_until timestamp with time zone, p_dispatches integer, OUT place tid[], OUT id uuid[], OUT dispatch boolean[]) RETURNS record
    LANGUAGE plpgsql
    SET enable_sort TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
  v_worst int;
  v_most int;
BEGIN
  place := '{}';
  id := '{}';
  dispatch := '{}';
  SELECT r.deaths INTO v_worst FROM ready r
    WHERE r.deaths > 0 AND r.queue = ANY (p_queues) AND r.ready_at <= p_until AND r.required_version <= p_version
      AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
    ORDER BY r.deaths DESC LIMIT 1;
  IF v_worst IS NULL THEN
    RETURN;
  END IF;
  v_most := least(suspects_admitted(p_session, v_worst), p_max);
  IF v_most <= 0 THEN
    RETURN;
  END IF;
  SELECT coalesce(array_agg(k.place), '{}'), coalesce(array_agg(k.id), '{}'), coalesce(array_agg(k.dispatch), '{}') INTO place, id, dispatch
    FROM (SELECT p.*, row_number() OVER (PARTITION BY p.dispatch ORDER BY p.deaths DESC, p.ready_at, p.id) AS n
          FROM (SELECT r.ctid AS place, r.subject_id AS id, r.kind = 'dispatch' AS dispatch, r.deaths, r.ready_at FROM ready r
                WHERE r.deaths > 0 AND r.queue = ANY (p_queues) AND r.ready_at <= p_until AND r.required_version <= p_version
                  AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
                ORDER BY r.deaths DESC, r.ready_at, r.subject_id LIMIT v_most FOR UPDATE OF r SKIP LOCKED) p) k
    WHERE NOT k.dispatch OR k.n <= p_dispatches;
END $$;

ALTER FUNCTION public.pick_suspects(p_session uuid, p_queues text[], p_max integer, p_version integer, p_kinds text[], p_until timestamp with time zone, p_dispatches integer, OUT place tid[], OUT id uuid[], OUT dispatch boolean[]) OWNER TO acl_owner;

CREATE FUNCTION public.post_inbox(p_subject uuid, p_inbox uuid, p_kind text, p_payload text, p_key text, p_hash bytea) RETURNS TABLE(replayed boolean, holder uuid, queue text)
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_lease leases;
  v_subject subjects;
  v_hash bytea;
BEGIN
  INSERT INTO request_keys (scope, request_key, request_hash, subject_id) VALUES (p_subject, p_key, p_hash, p_subject) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    SELECT r.request_hash INTO STRICT v_hash FROM request_keys r WHERE r.scope = p_subject AND r.request_key = p_key;
    IF v_hash <> p_hash THEN
      RAISE EXCEPTION 'the request key "%" was used for another input of subject %', p_key, p_subject USING ERRCODE = 'AC002';
    END IF;
    RETURN QUERY SELECT true, l.session_id, s.queue FROM leases l JOIN subjects s USING (subject_id) WHERE l.subject_id = p_subject;
    RETURN;
  END IF;
  -- hold: post_keyed
  UPDATE leases l SET wake = l.wake + 1 WHERE l.subject_id = p_subject AND l.state <> 1 RETURNING l.* INTO v_lease;
  IF NOT FOUND THEN
    IF EXISTS (SELECT FROM leases l WHERE l.subject_id = p_subject) THEN
      RAISE EXCEPTION 'subject % is closed', p_subject USING ERRCODE = 'AC002';
    END IF;
    RAISE EXCEPTION 'there is no subject %', p_subject USING ERRCODE = 'AC003';
  END IF;
  -- hold: post_woken
  INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
    VALUES (p_subject, p_inbox, p_kind, p_payload, clock_timestamp(), v_lease.session_id);
  SELECT * INTO STRICT v_subject FROM subjects s WHERE s.subject_id = p_subject;
  IF v_lease.session_id IS NULL AND v_lease.state = 0 THEN
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
      VALUES (v_subject.queue, v_subject.priority, ready_shard(p_subject), clock_timestamp(), p_subject, v_subject.kind, v_lease.required_version);
  END IF;
  RETURN QUERY SELECT false, v_lease.session_id, v_subject.queue;
END $$;

ALTER FUNCTION public.post_inbox(p_subject uuid, p_inbox uuid, p_kind text, p_payload text, p_key text, p_hash bytea) OWNER TO acl_owner;

CREATE FUNCTION public.quarantine_opened(p_subject uuid, p_token bigint, p_reason text, p_detail text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  UPDATE leases l SET state = 2 WHERE l.subject_id = p_subject AND l.session_id IS NULL AND l.token = p_token AND l.state = 0;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the lease of % is not open under token %', p_subject, p_token USING ERRCODE = 'AC001';
  END IF;
  INSERT INTO quarantine (subject_id, reason, detail, at) VALUES (p_subject, p_reason, p_detail, clock_timestamp());
END $$;

ALTER FUNCTION public.quarantine_opened(p_subject uuid, p_token bigint, p_reason text, p_detail text) OWNER TO acl_owner;

CREATE FUNCTION public.quarantine_subject(p_subject uuid, p_session uuid, p_token bigint, p_reason text, p_detail text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  UPDATE leases l SET session_id = NULL, state = 2, acquired_at = NULL
    WHERE l.subject_id = p_subject AND l.session_id = p_session AND l.token = p_token AND l.state = 0;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the lease of % is not held under token %', p_subject, p_token USING ERRCODE = 'AC001';
  END IF;
  INSERT INTO quarantine (subject_id, reason, detail, at) VALUES (p_subject, p_reason, p_detail, clock_timestamp());
END $$;

ALTER FUNCTION public.quarantine_subject(p_subject uuid, p_session uuid, p_token bigint, p_reason text, p_detail text) OWNER TO acl_owner;

CREATE FUNCTION public.raise_wake() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE v_epoch bigint := current_epoch();
BEGIN
  IF NEW.token >> 32 < v_epoch THEN
    NEW.wake := greatest(NEW.wake, v_epoch << 32);
  END IF;
  RETURN NEW;
END $$;

ALTER FUNCTION public.raise_wake() OWNER TO acl_owner;

CREATE FUNCTION public.read_granted(p_granted public.granted, p_later boolean DEFAULT false) RETURNS TABLE(part integer, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, n5 bigint, n6 bigint, u1 uuid, u2 uuid, t1 text, t2 text, t3 text, t4 text, b1 bytea, b2 bytea, b3 bytea, b4 bytea, at1 timestamp with time zone)
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION public.read_granted(p_granted public.granted, p_later boolean) OWNER TO acl_owner;

CREATE FUNCTION public.ready_lanes() RETURNS TABLE(queue text, priority smallint)
    LANGUAGE plpgsql STABLE
    SET enable_sort TO 'off'
    AS $$
BEGIN
  RETURN QUERY
    WITH RECURSIVE lane AS (
      (SELECT r.queue, r.priority FROM ready r ORDER BY r.queue, r.priority LIMIT 1)
      UNION ALL
      SELECT n.queue, n.priority FROM lane l
      CROSS JOIN LATERAL (SELECT r.queue, r.priority FROM ready r WHERE (r.queue, r.priority) > (l.queue, l.priority) ORDER BY r.queue, r.priority LIMIT 1) n)
    SELECT lane.queue, lane.priority FROM lane;
END $$;

ALTER FUNCTION public.ready_lanes() OWNER TO acl_owner;

CREATE FUNCTION public.ready_shard(p_subject uuid) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT (get_byte(uuid_send(p_subject), 15) & 3)::smallint $$;

ALTER FUNCTION public.ready_shard(p_subject uuid) OWNER TO acl_owner;

CREATE FUNCTION public.reap_dispatches(p_subject uuid, p_max integer) RETURNS TABLE(lost bigint, withdrawn bigint, more boolean)
    LANGUAGE plpgsql
    AS $$
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
  -- What nobody will take is not offered any more. A row that somebody is just taking is left to them: they find the dispatch ended.
  IF v_withdrawn > 0 THEN
    DELETE FROM ready r WHERE r.ctid = ANY (ARRAY(
      SELECT o.place FROM unnest(v_dispatches) AS c(id)
      CROSS JOIN LATERAL (SELECT x.queue, x.priority FROM dispatches x WHERE x.dispatch_id = c.id AND x.state = 'cancelled' LIMIT 1) t
      CROSS JOIN LATERAL (SELECT y.ctid AS place FROM ready y
                          WHERE y.queue = t.queue AND y.priority = t.priority AND y.shard = ready_shard(c.id) AND y.subject_id = c.id FOR UPDATE SKIP LOCKED) o));
  END IF;
  RETURN QUERY SELECT v_lost, v_withdrawn, v_lost + v_withdrawn >= p_max;
END $$;

ALTER FUNCTION public.reap_dispatches(p_subject uuid, p_max integer) OWNER TO acl_owner;

CREATE FUNCTION public.reap_leases(p_max integer) RETURNS TABLE(freed bigint, more boolean)
    LANGUAGE plpgsql
    AS $$
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
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version, deaths, begun)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), f.not_before, s.subject_id, s.kind, f.required_version,
           CASE WHEN v_deaths[array_position(v_subjects, f.subject_id)] >= 2 THEN v_deaths[array_position(v_subjects, f.subject_id)] ELSE 0 END,
           (SELECT x.head_seq > 1 FROM subject_head x WHERE x.subject_id = f.subject_id)
    FROM freed_now f CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = f.subject_id LIMIT 1) s WHERE f.state = 0
    ON CONFLICT DO NOTHING RETURNING 1)
  SELECT count(*) INTO v_freed FROM freed_now;
  -- No grant can be made to a dead session, so what no lease and no started dispatch names now none will name again.
  UPDATE worker_sessions s SET reaped = true WHERE s.dead_at IS NOT NULL AND NOT s.reaped
    AND (SELECT l.subject_id FROM leases l WHERE l.session_id = s.session_id LIMIT 1) IS NULL
    AND (SELECT t.dispatch_id FROM dispatches t WHERE t.session_id = s.session_id AND t.state = 'started' LIMIT 1) IS NULL;
  RETURN QUERY SELECT v_freed, v_seen = p_max AND v_freed > 0;
END $$;

ALTER FUNCTION public.reap_leases(p_max integer) OWNER TO acl_owner;

CREATE FUNCTION public.reap_sessions() RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION public.reap_sessions() OWNER TO acl_owner;

CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused: %', TG_OP, TG_TABLE_NAME,
    CASE TG_OP WHEN 'TRUNCATE' THEN 'no table is emptied as a whole' ELSE 'its rows are written once' END USING ERRCODE = '42501';
END $$;

ALTER FUNCTION public.refuse_change() OWNER TO acl_owner;

CREATE FUNCTION public.refuse_content_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  OLD.used_at := NEW.used_at;
  IF OLD IS NOT DISTINCT FROM NEW THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION '% of contents is refused: its rows are written once', TG_OP USING ERRCODE = '42501';
END $$;

ALTER FUNCTION public.refuse_content_change() OWNER TO acl_owner;

CREATE FUNCTION public.refuse_event_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND current_user = 'acl_owner' AND NEW.payload IS NULL AND NOT NEW.offloaded AND NEW.root IS NULL THEN
    OLD.payload := NULL;
    OLD.offloaded := false;
    OLD.root := NULL;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  ELSIF TG_OP = 'DELETE' AND current_user = 'acl_owner'
      AND EXISTS (SELECT FROM journal_segments g WHERE g.subject_id = OLD.subject_id AND g.first_seq > OLD.seq AND g.dropped_at IS NOT NULL) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% of event_rows is refused: events are immutable', TG_OP USING ERRCODE = '42501';
END $$;

ALTER FUNCTION public.refuse_event_change() OWNER TO acl_owner;

CREATE FUNCTION public.refuse_segment_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND current_user = 'acl_owner' AND OLD.dropped_at IS NULL THEN
    OLD.dropped_at := NEW.dropped_at;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION '% of journal_segments is refused: its rows are written once', TG_OP USING ERRCODE = '42501';
END $$;

ALTER FUNCTION public.refuse_segment_change() OWNER TO acl_owner;

CREATE FUNCTION public.release_chunks() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE v_released bytea[];
BEGIN
  WITH released AS (
    DELETE FROM content_refs r USING (
      SELECT chunk_hashes(OLD.chunks) AS hash
      EXCEPT SELECT chunk_hashes(s.chunks) FROM (SELECT x.chunks FROM snapshot_rows x WHERE x.subject_id = OLD.subject_id ORDER BY x.last_event_seq DESC LIMIT 2) s) gone
    WHERE r.hash = gone.hash AND r.subject_id = OLD.subject_id AND r.snapshot RETURNING r.hash)
  SELECT coalesce(array_agg(x.hash), '{}') INTO v_released FROM released x;
  WITH mine AS MATERIALIZED (
    SELECT c.hash FROM contents c WHERE c.hash = ANY (v_released) AND c.used_at IS NOT NULL ORDER BY c.hash FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE contents c SET used_at = clock_timestamp() FROM mine m WHERE c.hash = m.hash;
  RETURN NULL;
END $$;

ALTER FUNCTION public.release_chunks() OWNER TO acl_owner;

CREATE FUNCTION public.release_lease(p_subject uuid, p_session uuid, p_token bigint) RETURNS void
    LANGUAGE sql
    AS $$
  WITH freed AS (
    UPDATE leases l SET session_id = NULL, last_end = 2, acquired_at = NULL
    WHERE l.subject_id = p_subject AND l.session_id = p_session AND l.token = p_token RETURNING l.subject_id, l.state, l.required_version)
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version, begun)
  SELECT s.queue, s.priority, ready_shard(s.subject_id), clock_timestamp(), s.subject_id, s.kind, f.required_version,
         (SELECT x.head_seq > 1 FROM subject_head x WHERE x.subject_id = f.subject_id)
  FROM freed f JOIN subjects s ON s.subject_id = f.subject_id WHERE f.state = 0 ON CONFLICT DO NOTHING
$$;

ALTER FUNCTION public.release_lease(p_subject uuid, p_session uuid, p_token bigint) OWNER TO acl_owner;

CREATE FUNCTION public.release_quarantine(p_subject uuid, p_by text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_version int;
  v_reason text;
BEGIN
  UPDATE leases l SET state = 0, last_end = 0, not_before = NULL, wake = l.wake + 1 WHERE l.subject_id = p_subject AND l.state = 2
    RETURNING l.required_version INTO v_version;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'subject % is not in quarantine', p_subject USING ERRCODE = 'AC003';
  END IF;
  UPDATE quarantine q SET released_at = clock_timestamp(), released_by = p_by WHERE q.subject_id = p_subject AND q.released_at IS NULL
    RETURNING q.reason INTO v_reason;
  INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at)
    VALUES (p_subject, gen_random_uuid(), 'quarantine_released', json_build_object('reason', v_reason, 'by', p_by)::text, clock_timestamp());
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), clock_timestamp(), s.subject_id, s.kind, v_version FROM subjects s WHERE s.subject_id = p_subject;
END $$;

ALTER FUNCTION public.release_quarantine(p_subject uuid, p_by text) OWNER TO acl_owner;

CREATE FUNCTION public.remove_contents(p_subject uuid, p_upto_seq bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
  v_count bigint;
  v_free bigint;
  v_offloaded bytea[];
BEGIN
  IF NOT EXISTS (SELECT FROM leases l WHERE l.subject_id = p_subject AND l.state = 1) THEN
    SELECT coalesce(min(x.last_event_seq), 0) INTO v_free
      FROM (SELECT s.last_event_seq FROM snapshot_rows s WHERE s.subject_id = p_subject ORDER BY s.last_event_seq DESC LIMIT 2) x;
    IF v_free < p_upto_seq THEN
      RAISE EXCEPTION 'the contents of subject % up to event % are refused: it is open, and needs every event after its oldest kept snapshot (of event %)',
        p_subject, p_upto_seq, v_free USING ERRCODE = 'AC002', HINT = format('remove up to %s, or wait until it is closed', v_free);
    END IF;
  END IF;
  SELECT coalesce(array_agg(e.content_hash), '{}') INTO v_offloaded FROM event_rows e WHERE e.subject_id = p_subject AND e.seq <= p_upto_seq AND e.offloaded;
  UPDATE journal_rows SET root = NULL, payload = NULL, offloaded = false WHERE subject_id = p_subject AND seq <= p_upto_seq AND (payload IS NOT NULL OR offloaded);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  DELETE FROM content_refs r WHERE r.hash = ANY (v_offloaded) AND r.subject_id = p_subject
    AND NOT EXISTS (SELECT FROM event_rows e WHERE e.subject_id = p_subject AND e.offloaded AND e.content_hash = r.hash);
  UPDATE contents c SET used_at = clock_timestamp() WHERE c.hash = ANY (v_offloaded) AND c.used_at IS NOT NULL;  -- looked at again after the grace
  RETURN v_count;
END $$;

ALTER FUNCTION public.remove_contents(p_subject uuid, p_upto_seq bigint) OWNER TO acl_owner;

CREATE FUNCTION public.retain(p_sessions_ms bigint, p_keys_ms bigint, p_max integer) RETURNS TABLE(sessions bigint, keys bigint)
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_sessions bigint;
  v_keys bigint;
  v_now timestamptz := clock_timestamp();
BEGIN
  WITH d AS MATERIALIZED (
    SELECT x.session_id FROM worker_sessions x
    WHERE x.dead_at < v_now - p_sessions_ms * interval '1 millisecond' AND x.reaped AND NOT EXISTS (SELECT FROM leases l WHERE l.session_id = x.session_id)
    ORDER BY x.dead_at LIMIT p_max FOR UPDATE OF x SKIP LOCKED)
  DELETE FROM worker_sessions s USING d WHERE s.session_id = d.session_id;
  GET DIAGNOSTICS v_sessions = ROW_COUNT;
  WITH d AS MATERIALIZED (
    SELECT x.scope, x.request_key FROM request_keys x WHERE x.created_at < v_now - p_keys_ms * interval '1 millisecond' LIMIT p_max FOR UPDATE SKIP LOCKED)
  DELETE FROM request_keys r USING d WHERE r.scope = d.scope AND r.request_key = d.request_key;
  GET DIAGNOSTICS v_keys = ROW_COUNT;
  RETURN QUERY SELECT v_sessions, v_keys;
END $$;

ALTER FUNCTION public.retain(p_sessions_ms bigint, p_keys_ms bigint, p_max integer) OWNER TO acl_owner;

CREATE FUNCTION public.retain_dispatches(p_keep_ms bigint, p_max integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE v_dispatches bigint;
BEGIN
  WITH d AS MATERIALIZED (
    SELECT t.dispatch_id, t.queue, t.priority FROM dispatches t
    WHERE t.ended_at < clock_timestamp() - p_keep_ms * interval '1 millisecond'
      AND NOT EXISTS (SELECT FROM inbox i WHERE i.subject_id = t.subject_id AND i.inbox_id = t.dispatch_id)
      AND (EXISTS (SELECT FROM leases l WHERE l.subject_id = t.subject_id AND l.state = 1)
           OR EXISTS (SELECT FROM completion_rows c WHERE c.subject_id = t.subject_id AND c.step_id = t.step_id)
           OR EXISTS (SELECT FROM dispatches n WHERE n.subject_id = t.subject_id AND n.step_id = t.step_id AND n.attempt_id > t.attempt_id AND n.token > coalesce(t.token, 0)))
    ORDER BY t.ended_at LIMIT p_max FOR UPDATE OF t SKIP LOCKED),
  unclaimed AS (
    DELETE FROM ready r USING d WHERE r.kind = 'dispatch' AND r.queue = d.queue AND r.priority = d.priority AND r.shard = ready_shard(d.dispatch_id) AND r.subject_id = d.dispatch_id)
  DELETE FROM dispatches t USING d WHERE t.dispatch_id = d.dispatch_id;
  GET DIAGNOSTICS v_dispatches = ROW_COUNT;
  RETURN v_dispatches;
END $$;

ALTER FUNCTION public.retain_dispatches(p_keep_ms bigint, p_max integer) OWNER TO acl_owner;

CREATE FUNCTION public.show_approval() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO approvals (approval_id, subject_id, project_id, state, request)
  SELECT NEW.key, NEW.subject_id, s.project_id, NEW.payload::json ->> 'state', NEW.payload FROM subjects s WHERE s.subject_id = NEW.subject_id
  ON CONFLICT (approval_id) DO UPDATE SET state = EXCLUDED.state, request = EXCLUDED.request;
  RETURN NULL;
END $$;

ALTER FUNCTION public.show_approval() OWNER TO acl_owner;

CREATE FUNCTION public.show_rows(p_subject uuid, p_table text[], p_id text[], p_row text[]) RETURNS void
    LANGUAGE plpgsql
    AS $_$
DECLARE
  v_known constant text[] := '{goals,tasks,checkpoints,chat_session,chat_turn,ask_prepared,ask_outcome,context_artifact_ref,driftwatch,ledger_fact,ask_session}';
  v_owner constant text[] := '{project_id,project_id,project_id,session_id,session_id,session_id,session_id,NULL,session_id,subject_id,session_id}';
  v_key constant text[] := '{goal_id,task_id,task_id,session_id,turn_id,exchange_id,exchange_id,ref_id,driftwatch_id,ledger_id,session_id}';
  v_type constant text[] := '{text,text,text,uuid,uuid,uuid,uuid,uuid,text,text,uuid}';
  v_table text;
  n int;
BEGIN
  FOREACH v_table IN ARRAY ARRAY(SELECT DISTINCT t FROM unnest(p_table) AS t) LOOP
    n := array_position(v_known, v_table);
    IF n IS NULL THEN
      RAISE EXCEPTION 'there is no table % to show rows in', v_table USING ERRCODE = 'AC006';
    END IF;
    EXECUTE format('DELETE FROM %I g USING unnest($2, $3) AS r(tab, id) WHERE r.tab = $4 AND %s g.%I = r.id::%s AND $1 IS NOT NULL', v_table,
                   CASE WHEN v_owner[n] IS NULL THEN '' ELSE format('g.%I = $1 AND', v_owner[n]) END, v_key[n], v_type[n])
      USING p_subject, p_table, p_id, v_table;
    EXECUTE format('INSERT INTO %1$I SELECT g.* FROM unnest($2, $3) AS r(tab, shown)
      CROSS JOIN LATERAL jsonb_populate_record(NULL::%1$I, r.shown::jsonb || $5) g WHERE r.tab = $4 AND r.shown IS NOT NULL AND $1 IS NOT NULL', v_table)
      USING p_subject, p_table, p_row, v_table, CASE WHEN v_owner[n] IS NULL THEN '{}'::jsonb ELSE jsonb_build_object(v_owner[n], p_subject) END;
  END LOOP;
END $_$;

ALTER FUNCTION public.show_rows(p_subject uuid, p_table text[], p_id text[], p_row text[]) OWNER TO acl_owner;

CREATE FUNCTION public.shown_rows(p_first uuid, p_last uuid) RETURNS TABLE(subject_id uuid, tab text, id text, shown text)
    LANGUAGE sql STABLE
    AS $$
  SELECT g.project_id, 'goals', g.goal_id, (to_jsonb(g) - 'project_id' || jsonb_build_object('created_at', utc_text(g.created_at)))::text
    FROM goals g WHERE g.project_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT t.project_id, 'tasks', t.task_id, (to_jsonb(t) - 'project_id' || jsonb_build_object('updated_at', utc_text(t.updated_at)))::text
    FROM tasks t WHERE t.project_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT c.project_id, 'checkpoints', c.task_id, (to_jsonb(c) - 'project_id' || jsonb_build_object('timestamp', utc_text(c."timestamp")))::text
    FROM checkpoints c WHERE c.project_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT s.session_id, 'chat_session', s.session_id::text,
         (to_jsonb(s) - 'session_id' || jsonb_build_object('started_at', utc_text(s.started_at), 'ended_at', utc_text(s.ended_at)))::text
    FROM chat_session s WHERE s.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT a.session_id, 'ask_session', a.session_id::text, (to_jsonb(a) - 'session_id')::text FROM ask_session a WHERE a.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT t.session_id, 'chat_turn', t.turn_id::text, (to_jsonb(t) - 'session_id' || jsonb_build_object('created_at', utc_text(t.created_at)))::text
    FROM chat_turn t WHERE t.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT p.session_id, 'ask_prepared', p.exchange_id::text,
         (to_jsonb(p) - 'session_id' || jsonb_build_object('prepared_at', utc_text(p.prepared_at), 'deadline', utc_text(p.deadline)))::text
    FROM ask_prepared p WHERE p.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT o.session_id, 'ask_outcome', o.exchange_id::text, (to_jsonb(o) - 'session_id' || jsonb_build_object('ended_at', utc_text(o.ended_at)))::text
    FROM ask_outcome o WHERE o.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT p.session_id, 'context_artifact_ref', r.ref_id::text, (to_jsonb(r) || jsonb_build_object('observed_at', utc_text(r.observed_at)))::text
    FROM context_artifact_ref r JOIN ask_prepared p ON p.exchange_id = r.exchange_id WHERE p.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT d.session_id, 'driftwatch', d.driftwatch_id,
         (to_jsonb(d) - 'session_id' || jsonb_build_object('opened_at', utc_text(d.opened_at), 'closed_at', utc_text(d.closed_at)))::text
    FROM driftwatch d WHERE d.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT f.subject_id, 'ledger_fact', f.ledger_id,
         (to_jsonb(f) - 'subject_id' || jsonb_build_object('proposed_at', utc_text(f.proposed_at), 'decided_at', utc_text(f.decided_at)))::text
    FROM ledger_fact f WHERE f.subject_id BETWEEN p_first AND p_last
$$;

ALTER FUNCTION public.shown_rows(p_first uuid, p_last uuid) OWNER TO acl_owner;

CREATE FUNCTION public.step_outputs(p_payload text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT coalesce(p_payload::json ->> 'outputs',
    (SELECT op ->> 'value' FROM json_array_elements(p_payload::json -> 'state_delta') op
     WHERE op ->> 'path' = '/var:' || replace(replace(coalesce(p_payload::json ->> 'step_name', p_payload::json ->> 'step_id'), '~', '~0'), '/', '~1')
     LIMIT 1))
$$;

ALTER FUNCTION public.step_outputs(p_payload text) OWNER TO acl_owner;

CREATE FUNCTION public.suspects_admitted(p_session uuid, p_worst integer) RETURNS integer
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION public.suspects_admitted(p_session uuid, p_worst integer) OWNER TO acl_owner;

CREATE FUNCTION public.suspects_of(p_session uuid) RETURNS TABLE(id uuid, deaths integer, since timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
  RETURN QUERY SELECT l.subject_id, l.deaths, l.acquired_at FROM leases l
    WHERE l.session_id = p_session AND l.deaths >= 2
      AND NOT completed_since(l.subject_id, (SELECT g.head_seq FROM lease_history g WHERE g.subject_id = l.subject_id AND g.token = l.token));
  RETURN QUERY SELECT t.dispatch_id, t.deaths, t.started_at FROM dispatches t WHERE t.session_id = p_session AND t.state = 'started' AND t.deaths >= 2;
END $$;

ALTER FUNCTION public.suspects_of(p_session uuid) OWNER TO acl_owner;

CREATE FUNCTION public.take_deliveries(p_max integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_taken int;
BEGIN
  WITH wanted AS MATERIALIZED (
    SELECT o.outbox_id FROM outbox o WHERE o.topic LIKE 'webhook/%' OR o.topic LIKE 'cloudevent/%' ORDER BY o.outbox_id LIMIT p_max FOR UPDATE),
  taken AS (DELETE FROM outbox o USING wanted w WHERE o.outbox_id = w.outbox_id RETURNING o.*),
  read AS (SELECT t.*, json_of(t.payload) AS j, t.topic LIKE 'webhook/%' AS webhook FROM taken t),
  said AS (
    SELECT r.*, r.j ->> 'id' AS id, CASE WHEN r.webhook THEN r.j ->> 'endpoint' ELSE r.j ->> 'topic' END AS endpoint,
           CASE WHEN r.webhook THEN r.j -> 'payload' ELSE r.j -> 'data' END AS body FROM read r),
  judged AS (
    SELECT s.*, coalesce(length(s.id) BETWEEN 1 AND 200 AND s.endpoint <> '' AND s.body IS NOT NULL, false) AS whole FROM said s)
  INSERT INTO deliveries (position, message_id, project_id, subject_id, channel, endpoint, event, body, about, created_at, next_attempt_at, state, ended_at, last_error)
  SELECT s.outbox_id, CASE WHEN s.whole THEN s.id ELSE 'malformed_' || s.outbox_id END,
         coalesce(j.project_id, '00000000-0000-7000-8000-000000000001'), s.subject_id, CASE WHEN s.webhook THEN 'webhook' ELSE 'kafka' END,
         coalesce(s.endpoint, ''), substr(s.topic, strpos(s.topic, '/') + 1), CASE WHEN s.whole THEN s.body::text ELSE s.payload END,
         coalesce(s.j ->> 'subject', ''), s.created_at, clock_timestamp(), CASE WHEN s.whole THEN 'pending' ELSE 'dead' END,
         CASE WHEN NOT s.whole THEN clock_timestamp() END, CASE WHEN s.whole THEN '' ELSE 'malformed: no JSON with an id, an endpoint or topic, and a payload' END
  FROM judged s LEFT JOIN subjects j ON j.subject_id = s.subject_id
  ON CONFLICT (message_id) DO NOTHING;
  GET DIAGNOSTICS v_taken = ROW_COUNT;
  RETURN v_taken;
END $$;

ALTER FUNCTION public.take_deliveries(p_max integer) OWNER TO acl_owner;

CREATE FUNCTION public.takeover_delay(p_deaths integer) RETURNS interval
    LANGUAGE sql IMMUTABLE
    AS $$
  SELECT CASE WHEN p_deaths < 2 THEN interval '0' ELSE least(2 ^ least(p_deaths - 2, 10), 4) * interval '1 second' END
$$;

ALTER FUNCTION public.takeover_delay(p_deaths integer) OWNER TO acl_owner;

CREATE FUNCTION public.trial_group(p_slots integer, p_deaths integer) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $$
  SELECT greatest(1, p_slots >> least(greatest(2 * (p_deaths - 1), 0), 30))
$$;

ALTER FUNCTION public.trial_group(p_slots integer, p_deaths integer) OWNER TO acl_owner;

CREATE FUNCTION public.trial_time(p_ttl interval, p_deaths integer) RETURNS interval
    LANGUAGE sql IMMUTABLE
    AS $$
  SELECT 3 * p_ttl * 2 ^ least(greatest(p_deaths - 1, 0), 10)
$$;

ALTER FUNCTION public.trial_time(p_ttl interval, p_deaths integer) OWNER TO acl_owner;

CREATE FUNCTION public.unfinished_import(p_project uuid) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
  SELECT EXISTS (SELECT FROM event_rows e JOIN subject_head h ON h.subject_id = e.subject_id
    WHERE e.subject_id = p_project AND e.seq = 1 AND e.type = 'project.imported' AND h.head_seq <= (e.payload::jsonb -> 'origin' ->> 'head_seq')::bigint)
$$;

ALTER FUNCTION public.unfinished_import(p_project uuid) OWNER TO acl_owner;

CREATE FUNCTION public.unpack_payload(p_payload text, p_root bytea, p_at timestamp with time zone, p_completed text, p_begun text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  SELECT replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
         replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
         replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(p_payload
    , chr(5), '{"also":[{"attempt":1,"step_id":"')
    , chr(6), '","type":"step.started"}],')
    , chr(7), '"attempt":1,"state_delta":[{"op":"add","path":"/step:')
    , chr(8), '","value":{"attempts":1,"completed_at":')
    , chr(9), ',"order":')
    , chr(10), ',"started_at":')
    , chr(11), ',"status":"COMPLETED"}},{"op":"add","path":"/progress","value":{"done":')
    , chr(12), ',"open":["')
    , chr(13), '"]}},{"op":"add","path":"/ready~10~10","value":')
    , chr(14), '},{"op":"add","path":"/var:')
    , chr(15), '","value":')
    , chr(16), '},{"op":"add","path":"/step:')
    , chr(17), '","value":{"attempt":1,"started_at":')
    , chr(18), ',"status":"RUNNING"}}],"state_root":"')
    , chr(19), '","step_id":"')
    , chr(20), '},{"op":"add","path":"/')
    , chr(21), '"state_delta":[{"op":"add","path":"/')
    , chr(22), '],"state_root":"')
    , chr(23), ',"status":"')
    , chr(24), '},{"op":"remove","path":"/')
    , chr(25), '"type":"step.')
    , chr(26), '"}},{"op":"add","path":"/ready~10~10","value":')
    , chr(27), 'run/completed_at')
    , chr(28), '"outputs')
    , chr(29), '"error":"')
    , chr(30), '"attempt":')
    , chr(4), coalesce(p_begun, ''))
    , chr(3), coalesce(p_completed, ''))
    , chr(2), (extract(epoch FROM p_at) * 1000000)::bigint::text)
    , chr(1), encode(p_root, 'hex'))
$$;

ALTER FUNCTION public.unpack_payload(p_payload text, p_root bytea, p_at timestamp with time zone, p_completed text, p_begun text) OWNER TO acl_owner;

CREATE FUNCTION public.utc_text(p_at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    AS $$ SELECT to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;

ALTER FUNCTION public.utc_text(p_at timestamp with time zone) OWNER TO acl_owner;

CREATE TABLE public.api_keys (
    key_id text NOT NULL,
    project_id uuid NOT NULL,
    name text NOT NULL,
    secret_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revoked_at timestamp with time zone,
    roles text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT api_keys_key_id_check CHECK ((key_id ~ '^[0-9a-f]{12}$'::text)),
    CONSTRAINT api_keys_name_check CHECK (((name <> ''::text) AND (length(name) <= 100))),
    CONSTRAINT api_keys_secret_hash_check CHECK ((octet_length(secret_hash) = 32))
);

ALTER TABLE public.api_keys OWNER TO acl_owner;

CREATE TABLE public.approvals (
    "position" bigint NOT NULL,
    approval_id text NOT NULL,
    subject_id uuid NOT NULL,
    project_id uuid NOT NULL,
    state text NOT NULL,
    request text NOT NULL,
    CONSTRAINT approvals_state_check CHECK ((state = ANY (ARRAY['PENDING'::text, 'APPROVED'::text, 'REJECTED'::text, 'TIMEOUT'::text, 'CANCELLED'::text])))
)
WITH (fillfactor='70');

ALTER TABLE public.approvals OWNER TO acl_owner;

ALTER TABLE public.approvals ALTER COLUMN "position" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.approvals_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.ask_outcome (
    exchange_id uuid NOT NULL,
    session_id uuid NOT NULL,
    status text NOT NULL,
    turn_aurora_id uuid,
    response_hash text,
    response_sanitized text,
    validator_summary text,
    code text,
    message text,
    answer text,
    cost_micros bigint NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    CONSTRAINT ask_outcome_check CHECK (((status <> 'RECORDED'::text) OR ((turn_aurora_id IS NOT NULL) AND (response_hash IS NOT NULL) AND (validator_summary IS NOT NULL)))),
    CONSTRAINT ask_outcome_status_check CHECK ((status = ANY (ARRAY['RECORDED'::text, 'FAILED'::text, 'UNCERTAIN'::text])))
);

ALTER TABLE public.ask_outcome OWNER TO acl_owner;

CREATE TABLE public.ask_prepared (
    exchange_id uuid NOT NULL,
    session_id uuid NOT NULL,
    turn_user_id uuid NOT NULL,
    asked_by text NOT NULL,
    request_key text,
    context_bundle_hash text NOT NULL,
    context_bundle_json text,
    prompt_hash text NOT NULL,
    prefix_hash text NOT NULL,
    prompt_compiled text,
    provider text NOT NULL,
    model text NOT NULL,
    reserved_micros bigint NOT NULL,
    prepared_at timestamp with time zone NOT NULL,
    deadline timestamp with time zone NOT NULL
);

ALTER TABLE public.ask_prepared OWNER TO acl_owner;

CREATE TABLE public.ask_session (
    session_id uuid NOT NULL,
    owner text NOT NULL
);

ALTER TABLE public.ask_session OWNER TO acl_owner;

CREATE TABLE public.journal_rows (
    subject_id uuid NOT NULL,
    seq bigint NOT NULL,
    journal_id uuid NOT NULL,
    type text NOT NULL,
    schema_version smallint NOT NULL,
    producer_version text NOT NULL,
    token bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    checksum bytea NOT NULL,
    content_hash bytea,
    chain bytea NOT NULL,
    payload text,
    offloaded boolean DEFAULT false NOT NULL,
    completed text,
    completed_attempt integer,
    result_checksum bytea,
    begun text,
    begun_attempt integer,
    begun_at timestamp with time zone,
    root bytea,
    CONSTRAINT journal_rows_whole CHECK (((seq >= 1) AND (length(type) <= 50) AND (length(producer_version) <= 20) AND (GREATEST(length(completed), length(begun)) <= 100) AND (LEAST(length(type), length(completed), completed_attempt, length(begun), begun_attempt) >= 1) AND (length(checksum) = 32) AND (length(content_hash) = 32) AND (length(chain) = 32) AND (length(result_checksum) = 32) AND (length(root) = 32) AND ((num_nulls(completed, completed_attempt, result_checksum) % 3) = 0) AND (num_nulls(begun, begun_attempt) <> 1) AND ((NOT offloaded) OR (payload IS NULL))))
)
WITH (toast_tuple_target='256');
ALTER TABLE ONLY public.journal_rows ALTER COLUMN subject_id SET STATISTICS 10;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN seq SET STATISTICS 10;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN journal_id SET STATISTICS 0;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN type SET STATISTICS 10;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN type SET STORAGE MAIN;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN schema_version SET STATISTICS 0;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN producer_version SET STATISTICS 0;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN producer_version SET STORAGE MAIN;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN token SET STATISTICS 10;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN at SET STATISTICS 10;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN checksum SET STATISTICS 0;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN checksum SET STORAGE MAIN;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN content_hash SET STATISTICS 0;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN content_hash SET STORAGE MAIN;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN chain SET STATISTICS 0;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN chain SET STORAGE MAIN;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN payload SET STATISTICS 0;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN payload SET STORAGE MAIN;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN payload SET COMPRESSION lz4;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN offloaded SET STATISTICS 10;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN completed SET STATISTICS 10;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN completed SET STORAGE MAIN;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN completed_attempt SET STATISTICS 10;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN result_checksum SET STATISTICS 0;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN result_checksum SET STORAGE MAIN;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN begun SET STATISTICS 10;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN begun SET STORAGE MAIN;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN begun_attempt SET STATISTICS 10;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN begun_at SET STATISTICS 0;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE ONLY public.journal_rows ALTER COLUMN root SET STORAGE MAIN;

ALTER TABLE public.journal_rows OWNER TO acl_owner;

CREATE TABLE public.other_attempts (
    subject_id uuid NOT NULL,
    step_id text NOT NULL,
    attempt_id integer NOT NULL,
    token bigint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    CONSTRAINT other_attempts_attempt_id_check CHECK ((attempt_id >= 1)),
    CONSTRAINT other_attempts_step_id_check CHECK (((step_id <> ''::text) AND (length(step_id) <= 100)))
);

ALTER TABLE public.other_attempts OWNER TO acl_owner;

CREATE TABLE public.past_attempts (
    subject_id uuid NOT NULL,
    step_id text NOT NULL,
    attempt_id integer NOT NULL,
    token bigint NOT NULL,
    started_at timestamp with time zone NOT NULL
);

ALTER TABLE public.past_attempts OWNER TO acl_owner;

CREATE VIEW public.attempt_rows AS
 SELECT o.subject_id,
    o.step_id,
    o.attempt_id,
    o.token,
    o.started_at
   FROM public.other_attempts o
UNION ALL
 SELECT e.subject_id,
    e.begun AS step_id,
    e.begun_attempt AS attempt_id,
    e.token,
    COALESCE(e.begun_at, e.at) AS started_at
   FROM public.journal_rows e
  WHERE (e.begun IS NOT NULL)
UNION ALL
 SELECT p.subject_id,
    p.step_id,
    p.attempt_id,
    p.token,
    p.started_at
   FROM public.past_attempts p;

ALTER TABLE public.attempt_rows OWNER TO acl_owner;

CREATE TABLE public.chat_session (
    session_id uuid NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    phase text NOT NULL,
    tier integer NOT NULL,
    kernel_hash text NOT NULL,
    host_role text NOT NULL,
    model_id text NOT NULL,
    status text NOT NULL,
    CONSTRAINT chat_session_status_check CHECK ((status = ANY (ARRAY['open'::text, 'closed'::text])))
);

ALTER TABLE public.chat_session OWNER TO acl_owner;

CREATE TABLE public.chat_turn (
    turn_id uuid NOT NULL,
    session_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    speaker text NOT NULL,
    content text NOT NULL,
    content_hash text NOT NULL,
    refusal boolean DEFAULT false NOT NULL,
    authority_state text NOT NULL,
    driftwatch_id text,
    CONSTRAINT chat_turn_authority_state_check CHECK ((authority_state = ANY (ARRAY['ok'::text, 'insufficient'::text, 'blocked'::text]))),
    CONSTRAINT chat_turn_speaker_check CHECK ((speaker = ANY (ARRAY['user'::text, 'aurora'::text])))
);

ALTER TABLE public.chat_turn OWNER TO acl_owner;

CREATE TABLE public.checkpoints (
    project_id uuid NOT NULL,
    task_id text NOT NULL,
    where_we_left_off text NOT NULL,
    next_step text NOT NULL,
    needed_context_refs text[] NOT NULL,
    blockers text[] NOT NULL,
    "timestamp" timestamp with time zone NOT NULL
);

ALTER TABLE public.checkpoints OWNER TO acl_owner;

CREATE TABLE public.command_answers (
    subject_id uuid NOT NULL,
    request_key text NOT NULL,
    request_hash bytea NOT NULL,
    event_seq bigint NOT NULL,
    answer text NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT command_answers_event_seq_check CHECK ((event_seq > 0)),
    CONSTRAINT command_answers_request_hash_check CHECK ((length(request_hash) = 32)),
    CONSTRAINT command_answers_request_key_check CHECK (((request_key <> ''::text) AND (length(request_key) <= 300)))
);

ALTER TABLE public.command_answers OWNER TO acl_owner;

CREATE TABLE public.compensation_rows (
    compensation_id bigint NOT NULL,
    subject_id uuid NOT NULL,
    step_id text NOT NULL,
    capability text NOT NULL,
    inputs_json text,
    status text NOT NULL,
    error text,
    at timestamp with time zone NOT NULL,
    CONSTRAINT compensation_rows_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'executed'::text, 'failed'::text])))
);

ALTER TABLE public.compensation_rows OWNER TO acl_owner;

CREATE TABLE public.subjects (
    subject_id uuid NOT NULL,
    project_id uuid NOT NULL,
    kind text NOT NULL,
    queue text NOT NULL,
    priority smallint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    traceparent text,
    definition_text text,
    definition_hash bytea,
    CONSTRAINT subjects_kind_check CHECK (((kind <> ''::text) AND (length(kind) <= 50))),
    CONSTRAINT subjects_priority_check CHECK (((priority >= 0) AND (priority <= 3))),
    CONSTRAINT subjects_queue_check CHECK (((queue <> ''::text) AND (length(queue) <= 100)))
);
ALTER TABLE ONLY public.subjects ALTER COLUMN subject_id SET STATISTICS 10;
ALTER TABLE ONLY public.subjects ALTER COLUMN project_id SET STATISTICS 10;
ALTER TABLE ONLY public.subjects ALTER COLUMN kind SET STATISTICS 10;
ALTER TABLE ONLY public.subjects ALTER COLUMN queue SET STATISTICS 10;
ALTER TABLE ONLY public.subjects ALTER COLUMN priority SET STATISTICS 10;
ALTER TABLE ONLY public.subjects ALTER COLUMN created_at SET STATISTICS 10;
ALTER TABLE ONLY public.subjects ALTER COLUMN traceparent SET STATISTICS 0;
ALTER TABLE ONLY public.subjects ALTER COLUMN definition_text SET STATISTICS 0;
ALTER TABLE ONLY public.subjects ALTER COLUMN definition_text SET STORAGE MAIN;
ALTER TABLE ONLY public.subjects ALTER COLUMN definition_text SET COMPRESSION lz4;
ALTER TABLE ONLY public.subjects ALTER COLUMN definition_hash SET STATISTICS 0;
ALTER TABLE ONLY public.subjects ALTER COLUMN definition_hash SET STORAGE MAIN;

ALTER TABLE public.subjects OWNER TO acl_owner;

CREATE VIEW public.compensation_log AS
 SELECT c.compensation_id AS id,
    c.subject_id AS workflow_id,
    c.step_id AS step_name,
    c.capability AS compensation_action,
    c.inputs_json,
    c.at AS executed_at,
    (c.status = 'executed'::text) AS success,
    c.error AS error_message,
    s.project_id
   FROM (public.compensation_rows c
     JOIN public.subjects s USING (subject_id))
  WHERE (c.status <> 'pending'::text);

ALTER TABLE public.compensation_log OWNER TO acl_owner;

ALTER TABLE public.compensation_rows ALTER COLUMN compensation_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.compensation_rows_compensation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.other_completions (
    subject_id uuid NOT NULL,
    step_id text NOT NULL,
    attempt_id integer NOT NULL,
    token bigint NOT NULL,
    event_seq bigint NOT NULL,
    completed_at timestamp with time zone NOT NULL,
    result_checksum bytea NOT NULL,
    CONSTRAINT other_completions_attempt_id_check CHECK ((attempt_id >= 1)),
    CONSTRAINT other_completions_result_checksum_check CHECK ((length(result_checksum) = 32)),
    CONSTRAINT other_completions_step_id_check CHECK (((step_id <> ''::text) AND (length(step_id) <= 100)))
);

ALTER TABLE public.other_completions OWNER TO acl_owner;

CREATE VIEW public.completion_rows AS
 SELECT o.subject_id,
    o.step_id,
    o.attempt_id,
    o.token,
    o.event_seq,
    o.completed_at,
    o.result_checksum
   FROM public.other_completions o
UNION ALL
 SELECT e.subject_id,
    e.completed AS step_id,
    e.completed_attempt AS attempt_id,
    e.token,
    e.seq AS event_seq,
    e.at AS completed_at,
    e.result_checksum
   FROM public.journal_rows e
  WHERE (e.completed IS NOT NULL);

ALTER TABLE public.completion_rows OWNER TO acl_owner;

CREATE VIEW public.completed_steps AS
 SELECT c.subject_id AS workflow_id,
    (c.step_id)::character varying(100) AS step_id,
    c.attempt_id,
    c.completed_at,
    ('event:'::text || c.event_seq) AS result_snapshot_ref,
    (encode(c.result_checksum, 'hex'::text))::character varying(64) AS result_checksum,
    c.token AS fencing_token,
    s.project_id
   FROM (public.completion_rows c
     JOIN public.subjects s USING (subject_id));

ALTER TABLE public.completed_steps OWNER TO acl_owner;

CREATE TABLE public.content_chunks (
    hash bytea NOT NULL,
    number integer NOT NULL,
    bytes bytea NOT NULL
);

ALTER TABLE public.content_chunks OWNER TO acl_owner;

CREATE TABLE public.content_refs (
    hash bytea NOT NULL,
    subject_id uuid NOT NULL,
    snapshot boolean DEFAULT false NOT NULL
);

ALTER TABLE public.content_refs OWNER TO acl_owner;

CREATE TABLE public.contents (
    hash bytea NOT NULL,
    size bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    object_key text,
    used_at timestamp with time zone,
    CONSTRAINT contents_hash_check CHECK ((length(hash) = 32))
);

ALTER TABLE public.contents OWNER TO acl_owner;

CREATE TABLE public.context_artifact_ref (
    ref_id uuid NOT NULL,
    exchange_id uuid NOT NULL,
    artifact_type text NOT NULL,
    artifact_id text NOT NULL,
    artifact_hash text,
    included_reason text NOT NULL,
    observed_at timestamp with time zone,
    freshness_s integer,
    risk_flags text
);

ALTER TABLE public.context_artifact_ref OWNER TO acl_owner;

CREATE TABLE public.coordinators (
    coordinator_id uuid NOT NULL,
    doorbell text NOT NULL,
    host text NOT NULL,
    seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT coordinators_doorbell_check CHECK ((length(doorbell) <= 300)),
    CONSTRAINT coordinators_host_check CHECK ((length(host) <= 255))
)
WITH (fillfactor='50');

ALTER TABLE public.coordinators OWNER TO acl_owner;

CREATE TABLE public.definition_texts (
    hash bytea NOT NULL,
    text text NOT NULL,
    CONSTRAINT definition_texts_hash_check CHECK ((length(hash) = 32))
);
ALTER TABLE ONLY public.definition_texts ALTER COLUMN text SET COMPRESSION lz4;

ALTER TABLE public.definition_texts OWNER TO acl_owner;

CREATE TABLE public.delivery_attempts (
    message_id text NOT NULL,
    attempt integer NOT NULL,
    at timestamp with time zone NOT NULL,
    took_ms bigint NOT NULL,
    status integer NOT NULL,
    error text NOT NULL
);

ALTER TABLE public.delivery_attempts OWNER TO acl_owner;

CREATE TABLE public.dispatches (
    subject_id uuid NOT NULL,
    step_id text NOT NULL,
    attempt_id integer NOT NULL,
    queue text NOT NULL,
    priority smallint NOT NULL,
    payload text NOT NULL,
    deadline timestamp with time zone,
    state text DEFAULT 'queued'::text NOT NULL,
    token bigint,
    session_id uuid,
    created_at timestamp with time zone NOT NULL,
    dispatch_id uuid DEFAULT gen_random_uuid() NOT NULL,
    cancel_requested boolean DEFAULT false NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    deaths integer DEFAULT 0 NOT NULL,
    CONSTRAINT dispatches_priority_check CHECK (((priority >= 0) AND (priority <= 3))),
    CONSTRAINT dispatches_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'started'::text, 'done'::text, 'failed'::text, 'cancelled'::text, 'lost'::text]))),
    CONSTRAINT dispatches_states CHECK ((((state = 'started'::text) <= ((token IS NOT NULL) AND (session_id IS NOT NULL))) AND ((state = ANY (ARRAY['queued'::text, 'started'::text])) = (ended_at IS NULL)))),
    CONSTRAINT dispatches_step_id_check CHECK ((length(step_id) <= 100))
);

ALTER TABLE public.dispatches OWNER TO acl_owner;

CREATE TABLE public.driftwatch (
    driftwatch_id text NOT NULL,
    session_id uuid NOT NULL,
    kind text NOT NULL,
    exchange_id uuid NOT NULL,
    drift_class text NOT NULL,
    severity text NOT NULL,
    summary text NOT NULL,
    prompt_hash text NOT NULL,
    response_hash text NOT NULL,
    status text NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    closed_by text,
    closed_reason text,
    CONSTRAINT driftwatch_status_check CHECK ((status = ANY (ARRAY['open'::text, 'closed'::text])))
);

ALTER TABLE public.driftwatch OWNER TO acl_owner;

CREATE VIEW public.event_rows AS
 SELECT journal_rows.subject_id,
    journal_rows.seq,
    journal_rows.journal_id,
    journal_rows.type,
    journal_rows.schema_version,
    journal_rows.producer_version,
    journal_rows.token,
    journal_rows.at,
    journal_rows.checksum,
    COALESCE(journal_rows.content_hash, journal_rows.checksum) AS content_hash,
    journal_rows.chain,
        CASE
            WHEN (journal_rows.root IS NULL) THEN journal_rows.payload
            ELSE public.unpack_payload(journal_rows.payload, journal_rows.root, journal_rows.at, journal_rows.completed, journal_rows.begun)
        END AS payload,
    journal_rows.offloaded,
    journal_rows.completed,
    journal_rows.completed_attempt,
    journal_rows.result_checksum,
    journal_rows.begun,
    journal_rows.begun_attempt,
    journal_rows.begun_at
   FROM public.journal_rows;

ALTER TABLE public.event_rows OWNER TO acl_owner;

CREATE VIEW public.events AS
 SELECT public.event_uuid(e.subject_id, e.seq) AS event_id,
    e.subject_id AS workflow_id,
    e.seq AS event_seq,
    (e.type)::character varying(50) AS event_type,
    (public.payload_text(e.payload, e.offloaded, e.content_hash))::jsonb AS payload,
    e.at AS "timestamp",
    ((e.schema_version)::text)::character varying(10) AS schema_version,
    (e.producer_version)::character varying(20) AS producer_version,
    (encode(e.checksum, 'hex'::text))::character varying(64) AS checksum,
    e.token AS fencing_token,
    e.journal_id,
    encode(e.chain, 'hex'::text) AS chain,
    s.project_id
   FROM (public.event_rows e
     JOIN public.subjects s USING (subject_id));

ALTER TABLE public.events OWNER TO acl_owner;

CREATE TABLE public.fleet_epoch (
    one boolean DEFAULT true NOT NULL,
    base bigint NOT NULL,
    system_identifier bigint NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT fleet_epoch_base_check CHECK (((base >= 0) AND (base < 2000000))),
    CONSTRAINT fleet_epoch_one_check CHECK (one)
);

ALTER TABLE public.fleet_epoch OWNER TO acl_owner;

CREATE TABLE public.goals (
    project_id uuid NOT NULL,
    goal_id text NOT NULL,
    text text NOT NULL,
    priority integer NOT NULL,
    status text NOT NULL,
    withdrawn boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT goals_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'done'::text])))
);

ALTER TABLE public.goals OWNER TO acl_owner;

CREATE TABLE public.inbox (
    subject_id uuid NOT NULL,
    inbox_id uuid NOT NULL,
    kind text NOT NULL,
    payload text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    arrival bigint NOT NULL,
    session_id uuid,
    CONSTRAINT inbox_kind_check CHECK (((kind <> ''::text) AND (length(kind) <= 50)))
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_cost_delay='0');

ALTER TABLE public.inbox OWNER TO acl_owner;

ALTER TABLE public.inbox ALTER COLUMN arrival ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.inbox_arrival_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.journal_segments (
    subject_id uuid NOT NULL,
    first_seq bigint NOT NULL,
    journal_id uuid NOT NULL,
    token bigint NOT NULL,
    began_at timestamp with time zone NOT NULL,
    open_steps text[] DEFAULT '{}'::text[] NOT NULL,
    open_attempts integer[] DEFAULT '{}'::integer[] NOT NULL,
    open_tokens bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    open_since timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    dropped_at timestamp with time zone,
    CONSTRAINT journal_segments_first_seq_check CHECK ((first_seq > 1))
);

ALTER TABLE public.journal_segments OWNER TO acl_owner;

CREATE TABLE public.leader_leases (
    name text NOT NULL,
    session_id uuid NOT NULL,
    token bigint NOT NULL,
    acquired_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE public.leader_leases OWNER TO acl_owner;

CREATE TABLE public.lease_history (
    subject_id uuid NOT NULL,
    token bigint NOT NULL,
    session_id uuid,
    head_seq bigint NOT NULL,
    takeovers_without_progress integer NOT NULL,
    granted_at timestamp with time zone NOT NULL,
    lsn pg_lsn DEFAULT pg_current_wal_insert_lsn() NOT NULL,
    alone integer DEFAULT 0 NOT NULL
);

ALTER TABLE public.lease_history OWNER TO acl_owner;

CREATE TABLE public.leases (
    subject_id uuid NOT NULL,
    session_id uuid,
    token bigint NOT NULL,
    wake bigint DEFAULT 0 NOT NULL,
    state smallint DEFAULT 0 NOT NULL,
    last_end smallint DEFAULT 0 NOT NULL,
    required_version integer DEFAULT 1 NOT NULL,
    acquired_at timestamp with time zone,
    not_before timestamp with time zone,
    waiting_reason text,
    waiting_since timestamp with time zone,
    next_wake timestamp with time zone,
    deaths integer DEFAULT 0 NOT NULL,
    CONSTRAINT leases_whole CHECK (((token > 0) AND (token < '9007199254740992'::bigint) AND (state = ANY (ARRAY[0, 1, 2])) AND (last_end = ANY (ARRAY[0, 1, 2, 3]))))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');

ALTER TABLE public.leases OWNER TO acl_owner;

COMMENT ON COLUMN public.leases.last_end IS 'the last holder''s: 0 own will, 1 its worker died, 2 not counted, 3 its worker died and it alone is to blame';

CREATE TABLE public.ledger_fact (
    subject_id uuid NOT NULL,
    ledger_id text NOT NULL,
    claim text NOT NULL,
    source text NOT NULL,
    confidence text NOT NULL,
    subject text,
    contradicts text[] NOT NULL,
    status text NOT NULL,
    proposed_by text NOT NULL,
    proposed_at timestamp with time zone NOT NULL,
    decided_by text,
    decided_at timestamp with time zone,
    reason text,
    CONSTRAINT ledger_fact_confidence_check CHECK ((confidence = ANY (ARRAY['low'::text, 'medium'::text, 'high'::text]))),
    CONSTRAINT ledger_fact_status_check CHECK ((status = ANY (ARRAY['proposed'::text, 'ratified'::text, 'retracted'::text])))
);

ALTER TABLE public.ledger_fact OWNER TO acl_owner;

CREATE TABLE public.listings (
    subject_id uuid NOT NULL,
    project_id uuid NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    version text NOT NULL,
    owner text NOT NULL,
    status text NOT NULL,
    definition_text text DEFAULT ''::text NOT NULL,
    labels text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    error_message text
)
WITH (fillfactor='80', toast_tuple_target='256');
ALTER TABLE ONLY public.listings ALTER COLUMN definition_text SET STATISTICS 0;
ALTER TABLE ONLY public.listings ALTER COLUMN definition_text SET STORAGE MAIN;
ALTER TABLE ONLY public.listings ALTER COLUMN definition_text SET COMPRESSION lz4;
ALTER TABLE ONLY public.listings ALTER COLUMN error_message SET STATISTICS 0;

ALTER TABLE public.listings OWNER TO acl_owner;

CREATE VIEW public.llm_exchange AS
 SELECT p.exchange_id,
    p.session_id,
    p.turn_user_id,
    o.turn_aurora_id,
    p.context_bundle_hash,
    p.context_bundle_json,
    p.prompt_hash,
    p.prompt_compiled,
    o.response_hash,
    o.response_sanitized,
    o.validator_summary,
    o.ended_at AS created_at
   FROM (public.ask_prepared p
     JOIN public.ask_outcome o ON ((o.exchange_id = p.exchange_id)))
  WHERE (o.status = 'RECORDED'::text);

ALTER TABLE public.llm_exchange OWNER TO acl_owner;

CREATE VIEW public.move AS
 SELECT e.event_id AS id,
    e."timestamp" AS "time",
    substr((e.event_type)::text, 6) AS type,
    e.workflow_id AS session,
    ((e.payload - 'state_delta'::text) - 'state_root'::text) AS data,
    e.event_seq,
    e.project_id
   FROM (public.events e
     JOIN public.subjects s ON ((s.subject_id = e.workflow_id)))
  WHERE ((s.kind = 'agent'::text) AND starts_with((e.event_type)::text, 'move.'::text));

ALTER TABLE public.move OWNER TO acl_owner;

CREATE TABLE public.object_marks (
    object_key text NOT NULL,
    hash bytea NOT NULL,
    marked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    condemned boolean DEFAULT false NOT NULL,
    CONSTRAINT object_marks_hash_check CHECK ((length(hash) = 32))
);

ALTER TABLE public.object_marks OWNER TO acl_owner;

CREATE TABLE public.outbox (
    outbox_id bigint NOT NULL,
    subject_id uuid NOT NULL,
    topic text NOT NULL,
    key text NOT NULL,
    payload text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE public.outbox OWNER TO acl_owner;

ALTER TABLE public.outbox ALTER COLUMN outbox_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.projects (
    project_id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE public.projects OWNER TO acl_owner;

CREATE TABLE public.quarantine (
    quarantine_id bigint NOT NULL,
    subject_id uuid NOT NULL,
    reason text NOT NULL,
    detail text NOT NULL,
    at timestamp with time zone NOT NULL,
    released_at timestamp with time zone,
    released_by text
);

ALTER TABLE public.quarantine OWNER TO acl_owner;

ALTER TABLE public.quarantine ALTER COLUMN quarantine_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.quarantine_quarantine_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.ready (
    queue text NOT NULL,
    priority smallint NOT NULL,
    shard smallint NOT NULL,
    ready_at timestamp with time zone NOT NULL,
    subject_id uuid NOT NULL,
    kind text NOT NULL,
    required_version integer NOT NULL,
    deaths integer DEFAULT 0 NOT NULL,
    begun boolean DEFAULT true NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_cost_delay='0');

ALTER TABLE public.ready OWNER TO acl_owner;

CREATE TABLE public.request_keys (
    scope uuid NOT NULL,
    request_key text NOT NULL,
    request_hash bytea NOT NULL,
    subject_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT request_keys_request_hash_check CHECK ((length(request_hash) = 32)),
    CONSTRAINT request_keys_request_key_check CHECK ((length(request_key) <= 300))
);

ALTER TABLE public.request_keys OWNER TO acl_owner;

CREATE TABLE public.schedule_fires (
    schedule_id uuid NOT NULL,
    nominal_at timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    subject_id uuid,
    reason text DEFAULT ''::text NOT NULL,
    recorded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT schedule_fires_check CHECK (((outcome = 'started'::text) = (subject_id IS NOT NULL))),
    CONSTRAINT schedule_fires_outcome_check CHECK ((outcome = ANY (ARRAY['started'::text, 'skipped_overlap'::text, 'missed'::text, 'failed'::text])))
);

ALTER TABLE public.schedule_fires OWNER TO acl_owner;

CREATE TABLE public.schedules (
    schedule_id uuid NOT NULL,
    project_id uuid NOT NULL,
    name text NOT NULL,
    definition_text text NOT NULL,
    inputs text NOT NULL,
    labels text NOT NULL,
    cron text NOT NULL,
    zone text NOT NULL,
    overlap text NOT NULL,
    catchup_seconds bigint NOT NULL,
    created_by text NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    pause_reason text DEFAULT ''::text NOT NULL,
    next_fire_at timestamp with time zone,
    waiting_at timestamp with time zone,
    last_fire_at timestamp with time zone,
    started_count bigint DEFAULT 0 NOT NULL,
    skipped_count bigint DEFAULT 0 NOT NULL,
    missed_count bigint DEFAULT 0 NOT NULL,
    failed_count bigint DEFAULT 0 NOT NULL,
    request_key text,
    request_hash bytea,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    edited_by text DEFAULT ''::text NOT NULL,
    CONSTRAINT schedules_catchup_seconds_check CHECK (((catchup_seconds >= 0) AND (catchup_seconds <= 86400))),
    CONSTRAINT schedules_name_check CHECK (((name <> ''::text) AND (length(name) <= 100))),
    CONSTRAINT schedules_overlap_check CHECK ((overlap = ANY (ARRAY['skip'::text, 'buffer_one'::text, 'cancel_other'::text, 'allow'::text]))),
    CONSTRAINT schedules_request_hash_check CHECK ((octet_length(request_hash) = 32))
)
WITH (fillfactor='70');

ALTER TABLE public.schedules OWNER TO acl_owner;

CREATE TABLE public.segment_refs (
    hash bytea NOT NULL,
    subject_id uuid NOT NULL,
    first_seq bigint NOT NULL
);

ALTER TABLE public.segment_refs OWNER TO acl_owner;

CREATE TABLE public.subject_head (
    subject_id uuid NOT NULL,
    head_seq bigint NOT NULL,
    chain bytea NOT NULL,
    state_root bytea NOT NULL,
    journal_id uuid NOT NULL,
    last_timestamp timestamp with time zone NOT NULL,
    run_deadline timestamp with time zone,
    journal_first bigint,
    CONSTRAINT subject_head_whole CHECK (((head_seq >= 0) AND (length(chain) = 32) AND (length(state_root) = 32)))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');
ALTER TABLE ONLY public.subject_head ALTER COLUMN subject_id SET STATISTICS 10;
ALTER TABLE ONLY public.subject_head ALTER COLUMN head_seq SET STATISTICS 10;
ALTER TABLE ONLY public.subject_head ALTER COLUMN chain SET STATISTICS 0;
ALTER TABLE ONLY public.subject_head ALTER COLUMN state_root SET STATISTICS 0;
ALTER TABLE ONLY public.subject_head ALTER COLUMN journal_id SET STATISTICS 0;
ALTER TABLE ONLY public.subject_head ALTER COLUMN last_timestamp SET STATISTICS 10;
ALTER TABLE ONLY public.subject_head ALTER COLUMN run_deadline SET STATISTICS 10;
ALTER TABLE ONLY public.subject_head ALTER COLUMN journal_first SET STATISTICS 0;

ALTER TABLE public.subject_head OWNER TO acl_owner;

CREATE VIEW public.session AS
 SELECT s.subject_id AS id,
    s.created_at AS "time",
    jsonb_strip_nulls(jsonb_build_object('name', l.name, 'status', l.status, 'reason', NULLIF(l.error_message, ''::text), 'head_seq', h.head_seq, 'state_root', encode(h.state_root, 'hex'::text), 'blocked_on', e.waiting_reason, 'next_wake', e.next_wake)) AS state,
    NULLIF(((l.labels)::jsonb ->> 'note'::text), ''::text) AS note,
    s.project_id
   FROM (((public.subjects s
     JOIN public.listings l USING (subject_id))
     JOIN public.subject_head h USING (subject_id))
     JOIN public.leases e USING (subject_id))
  WHERE (s.kind = 'agent'::text);

ALTER TABLE public.session OWNER TO acl_owner;

CREATE TABLE public.snapshot_rows (
    subject_id uuid NOT NULL,
    last_event_seq bigint NOT NULL,
    snapshot_id uuid NOT NULL,
    schema_version smallint NOT NULL,
    token bigint NOT NULL,
    state_root bytea NOT NULL,
    chain bytea NOT NULL,
    inline_state text,
    chunks bytea,
    created_at timestamp with time zone NOT NULL,
    closing boolean DEFAULT false NOT NULL,
    CONSTRAINT snapshot_rows_chain_check CHECK ((length(chain) = 32)),
    CONSTRAINT snapshot_rows_check CHECK (((inline_state IS NULL) <> (chunks IS NULL))),
    CONSTRAINT snapshot_rows_chunks_check CHECK (((length(chunks) % 32) = 0)),
    CONSTRAINT snapshot_rows_state_root_check CHECK ((length(state_root) = 32))
);
ALTER TABLE ONLY public.snapshot_rows ALTER COLUMN state_root SET STATISTICS 0;
ALTER TABLE ONLY public.snapshot_rows ALTER COLUMN chain SET STATISTICS 0;
ALTER TABLE ONLY public.snapshot_rows ALTER COLUMN inline_state SET STATISTICS 0;
ALTER TABLE ONLY public.snapshot_rows ALTER COLUMN inline_state SET COMPRESSION lz4;
ALTER TABLE ONLY public.snapshot_rows ALTER COLUMN chunks SET STATISTICS 0;

ALTER TABLE public.snapshot_rows OWNER TO acl_owner;

CREATE VIEW public.snapshots AS
 SELECT x.snapshot_id,
    x.subject_id AS workflow_id,
    ( SELECT (count(*))::integer AS count
           FROM public.completion_rows c
          WHERE ((c.subject_id = x.subject_id) AND (c.event_seq <= x.last_event_seq))) AS step_number,
    x.last_event_seq,
    (x.inline_state)::jsonb AS state_inline,
        CASE
            WHEN (x.chunks IS NOT NULL) THEN ('contents:'::text || encode(x.chunks, 'hex'::text))
            ELSE NULL::text
        END AS state_s3_key,
    (encode(x.state_root, 'hex'::text))::character varying(64) AS state_checksum,
    x.created_at,
    x.schema_version,
    s.project_id
   FROM (public.snapshot_rows x
     JOIN public.subjects s USING (subject_id));

ALTER TABLE public.snapshots OWNER TO acl_owner;

CREATE VIEW public.step_attempts AS
 SELECT a.subject_id AS workflow_id,
    (a.step_id)::character varying(100) AS step_id,
    a.attempt_id,
    a.started_at,
    a.token AS fencing_token,
    s.project_id
   FROM (public.attempt_rows a
     JOIN public.subjects s USING (subject_id));

ALTER TABLE public.step_attempts OWNER TO acl_owner;

CREATE VIEW public.step_errors AS
 SELECT e.subject_id,
    ((e.payload)::json ->> 'step_id'::text) AS step_id,
    (((e.payload)::json ->> 'attempt'::text))::integer AS attempt_id,
    (array_agg(COALESCE(((e.payload)::json ->> 'error'::text), ((e.payload)::json ->> 'why'::text)) ORDER BY e.seq DESC))[1] AS error,
    (array_agg(e.type ORDER BY e.seq DESC))[1] AS last_type
   FROM public.event_rows e
  WHERE (e.type = ANY (ARRAY['step.attempt_failed'::text, 'step.failed'::text, 'step.attempt_lost'::text, 'step.uncertain'::text, 'step.cancelled'::text, 'compensation.failed'::text, 'attempt.not_started'::text]))
  GROUP BY e.subject_id, ((e.payload)::json ->> 'step_id'::text), (((e.payload)::json ->> 'attempt'::text))::integer;

ALTER TABLE public.step_errors OWNER TO acl_owner;

CREATE VIEW public.step_inputs AS
 SELECT said.subject_id,
    said.step_id,
    min(said.inputs) AS inputs
   FROM ( SELECT e.subject_id,
            replace(replace(substr(split_part((op.value ->> 'path'::text), '/'::text, 2), 6), '~1'::text, '/'::text), '~0'::text, '~'::text) AS step_id,
            COALESCE((op.value #>> '{value,call,inputs}'::text[]), (op.value #>> '{value,inputs}'::text[])) AS inputs
           FROM public.event_rows e,
            LATERAL json_array_elements(((e.payload)::json -> 'state_delta'::text)) op(value)
          WHERE ((e.type = ANY (ARRAY['step.started'::text, 'step.dispatched'::text, 'step.completed'::text, 'workflow.started'::text])) AND ((((op.value ->> 'path'::text) ~ '^/step:[^/]*$'::text) AND ((op.value #> '{value,call,inputs}'::text[]) IS NOT NULL)) OR (((op.value ->> 'path'::text) ~ '^/step:[^/]*/call$'::text) AND ((op.value #> '{value,inputs}'::text[]) IS NOT NULL))))
        UNION ALL
         SELECT e.subject_id,
            replace(replace(replace(replace(replace(replace(replace((step.value ->> 'name'::text), '%'::text, '%25'::text), '/'::text, '%2F'::text), '['::text, '%5B'::text), ']'::text, '%5D'::text), '#'::text, '%23'::text), ':'::text, '%3A'::text), '*'::text, '%2A'::text) AS replace,
            (step.value ->> 'inputs'::text)
           FROM public.event_rows e,
            LATERAL json_array_elements(((e.payload)::json -> 'state_delta'::text)) op(value),
            LATERAL json_array_elements((op.value #> '{value,steps}'::text[])) step(value)
          WHERE ((e.seq = 1) AND (e.type = 'workflow.created'::text) AND ((op.value ->> 'path'::text) = '/spec'::text) AND ((step.value ->> 'inputs'::text) IS NOT NULL) AND ((step.value ->> 'inputs'::text) !~~ '%{{%'::text))) said
  GROUP BY said.subject_id, said.step_id;

ALTER TABLE public.step_inputs OWNER TO acl_owner;

CREATE TABLE public.tasks (
    project_id uuid NOT NULL,
    task_id text NOT NULL,
    goal_id text NOT NULL,
    title text NOT NULL,
    status text NOT NULL,
    withdrawn boolean NOT NULL,
    priority integer NOT NULL,
    acceptance_criteria text[] NOT NULL,
    depends_on text[] NOT NULL,
    holder text,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT tasks_status_check CHECK ((status = ANY (ARRAY['todo'::text, 'doing'::text, 'blocked'::text, 'done'::text])))
);

ALTER TABLE public.tasks OWNER TO acl_owner;

CREATE TABLE public.timers (
    subject_id uuid NOT NULL,
    timer_id text NOT NULL,
    fire_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_cost_delay='0');

ALTER TABLE public.timers OWNER TO acl_owner;

CREATE TABLE public.worker_sessions (
    session_id uuid NOT NULL,
    worker_name text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    slots integer NOT NULL,
    queues text[] NOT NULL,
    version text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    heartbeat_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    dead_at timestamp with time zone,
    end_kind smallint DEFAULT 0 NOT NULL,
    reaped boolean DEFAULT false NOT NULL,
    blamed uuid,
    CONSTRAINT worker_sessions_end_kind_check CHECK ((end_kind = ANY (ARRAY[0, 1, 2])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02');

ALTER TABLE public.worker_sessions OWNER TO acl_owner;

CREATE VIEW public.workflow_leases AS
 SELECT l.subject_id AS workflow_id,
    (l.session_id)::text AS owner_id,
    l.acquired_at,
    w.expires_at AS lease_expires_at,
    l.token AS fencing_token,
    w.heartbeat_at,
    s.project_id,
    w.worker_name
   FROM ((public.leases l
     JOIN public.worker_sessions w USING (session_id))
     JOIN public.subjects s USING (subject_id))
  WHERE (l.session_id IS NOT NULL);

ALTER TABLE public.workflow_leases OWNER TO acl_owner;

CREATE VIEW public.workflow_steps AS
 SELECT (hashtextextended(((((a.subject_id || '/'::text) || a.step_id) || '/'::text) || a.attempt_id), (0)::bigint) & '9223372036854775807'::bigint) AS id,
    a.subject_id AS workflow_id,
    a.step_id AS step_name,
        CASE
            WHEN (c.attempt_id = a.attempt_id) THEN 'COMPLETED'::text
            WHEN ((c.attempt_id IS NOT NULL) OR (later.attempt_id IS NOT NULL) OR (le.state = 1)) THEN 'FAILED'::text
            WHEN (f.last_type = ANY (ARRAY['step.uncertain'::text, 'attempt.not_started'::text])) THEN 'PAUSED'::text
            WHEN (f.last_type IS NOT NULL) THEN 'FAILED'::text
            WHEN (t.state = 'queued'::text) THEN 'PENDING'::text
            WHEN (t.state IS NOT NULL) THEN 'RUNNING'::text
            WHEN (le.session_id IS NULL) THEN 'PAUSED'::text
            ELSE 'RUNNING'::text
        END AS status,
    i.inputs AS inputs_json,
        CASE
            WHEN (c.attempt_id = a.attempt_id) THEN public.step_outputs(public.payload_text(e.payload, e.offloaded, e.content_hash))
            ELSE NULL::text
        END AS outputs_json,
    a.started_at,
        CASE
            WHEN (c.attempt_id = a.attempt_id) THEN c.completed_at
            ELSE NULL::timestamp with time zone
        END AS completed_at,
    f.error AS error_message,
    s.project_id
   FROM ((((((((public.attempt_rows a
     JOIN public.subjects s USING (subject_id))
     JOIN public.leases le USING (subject_id))
     LEFT JOIN public.completion_rows c ON (((c.subject_id = a.subject_id) AND (c.step_id = a.step_id))))
     LEFT JOIN public.event_rows e ON (((e.subject_id = c.subject_id) AND (e.seq = c.event_seq))))
     LEFT JOIN public.attempt_rows later ON (((later.subject_id = a.subject_id) AND (later.step_id = a.step_id) AND (later.attempt_id = (a.attempt_id + 1)))))
     LEFT JOIN public.dispatches t ON (((t.subject_id = a.subject_id) AND (t.step_id = a.step_id) AND (t.attempt_id = a.attempt_id))))
     LEFT JOIN public.step_inputs i ON (((i.subject_id = a.subject_id) AND (i.step_id = a.step_id))))
     LEFT JOIN public.step_errors f ON (((f.subject_id = a.subject_id) AND (f.step_id = a.step_id) AND (f.attempt_id = a.attempt_id))));

ALTER TABLE public.workflow_steps OWNER TO acl_owner;

CREATE VIEW public.workflows AS
 SELECT l.subject_id AS id,
    l.name,
    l.version,
    l.owner,
    l.status,
    COALESCE(s.definition_text, x.text, l.definition_text) AS spec_yaml,
    l.created_at,
    l.updated_at,
    l.completed_at,
    l.error_message,
    l.started_at,
    l.labels,
    l.project_id
   FROM ((public.listings l
     JOIN public.subjects s USING (subject_id))
     LEFT JOIN public.definition_texts x ON ((x.hash = s.definition_hash)))
  WHERE (l.kind = 'workflow'::text);

ALTER TABLE public.workflows OWNER TO acl_owner;

ALTER TABLE ONLY public.event_rows ALTER COLUMN offloaded SET DEFAULT false;

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (key_id);

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_pkey PRIMARY KEY (approval_id);

ALTER TABLE ONLY public.ask_outcome
    ADD CONSTRAINT ask_outcome_pkey PRIMARY KEY (exchange_id);

ALTER TABLE ONLY public.ask_prepared
    ADD CONSTRAINT ask_prepared_pkey PRIMARY KEY (exchange_id);

ALTER TABLE ONLY public.ask_session
    ADD CONSTRAINT ask_session_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY public.chat_session
    ADD CONSTRAINT chat_session_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY public.chat_turn
    ADD CONSTRAINT chat_turn_pkey PRIMARY KEY (turn_id);

ALTER TABLE ONLY public.checkpoints
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (project_id, task_id);

ALTER TABLE ONLY public.command_answers
    ADD CONSTRAINT command_answers_pkey PRIMARY KEY (subject_id, request_key);

ALTER TABLE ONLY public.compensation_rows
    ADD CONSTRAINT compensation_rows_pkey PRIMARY KEY (compensation_id);

ALTER TABLE ONLY public.content_chunks
    ADD CONSTRAINT content_chunks_pkey PRIMARY KEY (hash, number);

ALTER TABLE ONLY public.content_refs
    ADD CONSTRAINT content_refs_pkey PRIMARY KEY (hash, subject_id, snapshot);

ALTER TABLE ONLY public.contents
    ADD CONSTRAINT contents_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY public.context_artifact_ref
    ADD CONSTRAINT context_artifact_ref_pkey PRIMARY KEY (ref_id);

ALTER TABLE ONLY public.coordinators
    ADD CONSTRAINT coordinators_pkey PRIMARY KEY (coordinator_id);

ALTER TABLE ONLY public.definition_texts
    ADD CONSTRAINT definition_texts_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_message_id_key UNIQUE (message_id);

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY ("position");

ALTER TABLE ONLY public.delivery_attempts
    ADD CONSTRAINT delivery_attempts_pkey PRIMARY KEY (message_id, attempt);

ALTER TABLE ONLY public.dispatches
    ADD CONSTRAINT dispatches_pkey PRIMARY KEY (subject_id, step_id, attempt_id);

ALTER TABLE ONLY public.driftwatch
    ADD CONSTRAINT driftwatch_pkey PRIMARY KEY (session_id, driftwatch_id);

ALTER TABLE ONLY public.fleet_epoch
    ADD CONSTRAINT fleet_epoch_pkey PRIMARY KEY (one);

ALTER TABLE ONLY public.goals
    ADD CONSTRAINT goals_pkey PRIMARY KEY (project_id, goal_id);

ALTER TABLE ONLY public.inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (subject_id, inbox_id);

ALTER TABLE ONLY public.journal_rows
    ADD CONSTRAINT journal_rows_pkey PRIMARY KEY (subject_id, seq);

ALTER TABLE ONLY public.journal_segments
    ADD CONSTRAINT journal_segments_pkey PRIMARY KEY (subject_id, first_seq);

ALTER TABLE ONLY public.leader_leases
    ADD CONSTRAINT leader_leases_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.lease_history
    ADD CONSTRAINT lease_history_pkey PRIMARY KEY (subject_id, token);

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (subject_id);

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_subject_id_token_key UNIQUE (subject_id, token);

ALTER TABLE ONLY public.ledger_fact
    ADD CONSTRAINT ledger_fact_pkey PRIMARY KEY (subject_id, ledger_id);

ALTER TABLE ONLY public.listings
    ADD CONSTRAINT listings_pkey PRIMARY KEY (subject_id);

ALTER TABLE ONLY public.object_marks
    ADD CONSTRAINT object_marks_pkey PRIMARY KEY (object_key);

ALTER TABLE ONLY public.other_attempts
    ADD CONSTRAINT other_attempts_pkey PRIMARY KEY (subject_id, step_id, attempt_id);

ALTER TABLE ONLY public.other_completions
    ADD CONSTRAINT other_completions_pkey PRIMARY KEY (subject_id, step_id);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (outbox_id);

ALTER TABLE ONLY public.past_attempts
    ADD CONSTRAINT past_attempts_pkey PRIMARY KEY (subject_id, step_id, attempt_id);

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_name_key UNIQUE (name);

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.quarantine
    ADD CONSTRAINT quarantine_pkey PRIMARY KEY (quarantine_id);

ALTER TABLE ONLY public.ready
    ADD CONSTRAINT ready_pkey PRIMARY KEY (queue, priority, shard, ready_at, subject_id);

ALTER TABLE ONLY public.request_keys
    ADD CONSTRAINT request_keys_pkey PRIMARY KEY (scope, request_key);

ALTER TABLE ONLY public.schedule_fires
    ADD CONSTRAINT schedule_fires_pkey PRIMARY KEY (schedule_id, nominal_at);

ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (schedule_id);

ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_project_id_name_key UNIQUE (project_id, name);

ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_project_id_request_key_key UNIQUE (project_id, request_key);

ALTER TABLE ONLY public.segment_refs
    ADD CONSTRAINT segment_refs_pkey PRIMARY KEY (hash, subject_id, first_seq);

ALTER TABLE ONLY public.snapshot_rows
    ADD CONSTRAINT snapshot_rows_pkey PRIMARY KEY (subject_id, last_event_seq);

ALTER TABLE ONLY public.subject_head
    ADD CONSTRAINT subject_head_pkey PRIMARY KEY (subject_id);

ALTER TABLE ONLY public.subjects
    ADD CONSTRAINT subjects_pkey PRIMARY KEY (subject_id);

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (project_id, task_id);

ALTER TABLE ONLY public.timers
    ADD CONSTRAINT timers_pkey PRIMARY KEY (subject_id, timer_id);

ALTER TABLE ONLY public.worker_sessions
    ADD CONSTRAINT worker_sessions_pkey PRIMARY KEY (session_id);

CREATE UNIQUE INDEX approvals_in_order ON public.approvals USING btree (project_id, "position");

CREATE INDEX approvals_of_subject ON public.approvals USING btree (subject_id);

CREATE INDEX approvals_pending ON public.approvals USING btree (project_id, "position") WHERE (state = 'PENDING'::text);

CREATE INDEX ask_outcome_session ON public.ask_outcome USING btree (session_id);

CREATE INDEX ask_prepared_key ON public.ask_prepared USING btree (request_key, asked_by) WHERE (request_key IS NOT NULL);

CREATE INDEX ask_prepared_session ON public.ask_prepared USING btree (session_id, prepared_at);

CREATE INDEX compensation_rows_by_subject ON public.compensation_rows USING btree (subject_id);

CREATE INDEX contents_by_use ON public.contents USING btree (used_at, hash) WHERE (used_at IS NOT NULL);

CREATE INDEX deliveries_dead ON public.deliveries USING btree (project_id, "position") WHERE (state = 'dead'::text);

CREATE INDEX deliveries_due ON public.deliveries USING btree (channel, endpoint, next_attempt_at) WHERE (state = 'pending'::text);

CREATE INDEX deliveries_ended ON public.deliveries USING btree (ended_at) WHERE (state = ANY (ARRAY['delivered'::text, 'discarded'::text]));

CREATE INDEX deliveries_in_order ON public.deliveries USING btree (subject_id, channel, endpoint, "position") WHERE (state = 'pending'::text);

CREATE UNIQUE INDEX dispatches_by_id ON public.dispatches USING btree (dispatch_id);

CREATE INDEX dispatches_ended ON public.dispatches USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX dispatches_started ON public.dispatches USING btree (session_id) WHERE (state = 'started'::text);

CREATE INDEX dispatches_suspect ON public.dispatches USING btree (session_id) WHERE ((state = 'started'::text) AND (deaths >= 2));

CREATE INDEX dispatches_unwanted ON public.dispatches USING btree (subject_id) WHERE ((state = 'queued'::text) AND cancel_requested);

CREATE INDEX idx_chat_turn_session_time ON public.chat_turn USING btree (session_id, created_at);

CREATE INDEX idx_context_artifact_exchange ON public.context_artifact_ref USING btree (exchange_id);

CREATE INDEX inbox_by_session ON public.inbox USING btree (session_id) WHERE (session_id IS NOT NULL);

CREATE UNIQUE INDEX journal_rows_begun ON public.journal_rows USING btree (subject_id, begun, begun_attempt) WHERE (begun IS NOT NULL);

CREATE UNIQUE INDEX journal_rows_completed ON public.journal_rows USING btree (subject_id, completed) WHERE (completed IS NOT NULL);

CREATE INDEX journal_segments_kept ON public.journal_segments USING btree (began_at) WHERE (dropped_at IS NULL);

CREATE INDEX leases_by_session ON public.leases USING btree (session_id) WHERE (session_id IS NOT NULL);

CREATE INDEX leases_suspect ON public.leases USING btree (session_id) WHERE ((deaths >= 2) AND (session_id IS NOT NULL));

CREATE INDEX listings_by_project ON public.listings USING btree (project_id, subject_id DESC);

CREATE INDEX quarantine_by_subject ON public.quarantine USING btree (subject_id);

CREATE UNIQUE INDEX quarantine_open ON public.quarantine USING btree (subject_id) WHERE (released_at IS NULL);

CREATE INDEX ready_begun ON public.ready USING btree (queue, (((priority * 4) + shard)), ready_at, subject_id) WHERE begun;

CREATE INDEX ready_suspect ON public.ready USING btree (deaths DESC, ready_at) WHERE (deaths > 0);

CREATE INDEX request_keys_by_time ON public.request_keys USING brin (created_at);

CREATE INDEX schedules_due ON public.schedules USING btree (next_fire_at) WHERE (NOT paused);

CREATE INDEX schedules_waiting ON public.schedules USING btree (waiting_at) WHERE ((NOT paused) AND (waiting_at IS NOT NULL));

CREATE INDEX segment_refs_by_segment ON public.segment_refs USING btree (subject_id, first_seq);

CREATE INDEX timers_by_time ON public.timers USING btree (fire_at);

CREATE INDEX worker_sessions_alive ON public.worker_sessions USING btree (session_id) WHERE (dead_at IS NULL);

CREATE INDEX worker_sessions_dead ON public.worker_sessions USING btree (dead_at) WHERE (dead_at IS NOT NULL);

CREATE INDEX worker_sessions_unreaped ON public.worker_sessions USING btree (session_id) WHERE ((dead_at IS NOT NULL) AND (NOT reaped));

CREATE TRIGGER chunks_released AFTER DELETE ON public.snapshot_rows FOR EACH ROW WHEN ((old.chunks IS NOT NULL)) EXECUTE FUNCTION public.release_chunks();

CREATE TRIGGER closing_stays BEFORE DELETE ON public.snapshot_rows FOR EACH ROW WHEN (old.closing) EXECUTE FUNCTION public.keep_closing_snapshot();

CREATE TRIGGER immutable INSTEAD OF DELETE OR UPDATE ON public.attempt_rows FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE ON public.command_answers FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE ON public.compensation_rows FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable INSTEAD OF DELETE OR UPDATE ON public.completion_rows FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE UPDATE ON public.content_chunks FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE UPDATE ON public.content_refs FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE UPDATE ON public.contents FOR EACH ROW EXECUTE FUNCTION public.refuse_content_change();

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE ON public.definition_texts FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable INSTEAD OF DELETE OR UPDATE ON public.event_rows FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE ON public.journal_rows FOR EACH ROW EXECUTE FUNCTION public.refuse_event_change();

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE ON public.journal_segments FOR EACH ROW EXECUTE FUNCTION public.refuse_segment_change();

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE ON public.lease_history FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE ON public.other_attempts FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE ON public.other_completions FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE ON public.past_attempts FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE UPDATE ON public.segment_refs FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE UPDATE ON public.snapshot_rows FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER immutable BEFORE UPDATE ON public.subjects FOR EACH ROW EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER insert_event_row INSTEAD OF INSERT ON public.event_rows FOR EACH ROW EXECUTE FUNCTION public.insert_event_row();

CREATE TRIGGER insert_other INSTEAD OF INSERT ON public.attempt_rows FOR EACH ROW EXECUTE FUNCTION public.insert_other();

CREATE TRIGGER insert_other INSTEAD OF INSERT ON public.completion_rows FOR EACH ROW EXECUTE FUNCTION public.insert_other();

CREATE TRIGGER lease_stays BEFORE DELETE ON public.leases FOR EACH ROW EXECUTE FUNCTION public.guard_lease();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.api_keys FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.approvals FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.ask_outcome FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.ask_prepared FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.ask_session FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.chat_session FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.chat_turn FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.checkpoints FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.command_answers FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.compensation_rows FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.content_chunks FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.content_refs FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.contents FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.context_artifact_ref FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.coordinators FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.definition_texts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.deliveries FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.delivery_attempts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.dispatches FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.driftwatch FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.fleet_epoch FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.goals FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.inbox FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.journal_rows FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.journal_segments FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.leader_leases FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.lease_history FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.leases FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.ledger_fact FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.listings FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.object_marks FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.other_attempts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.other_completions FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.outbox FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.past_attempts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.projects FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.quarantine FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.ready FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.request_keys FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.schedule_fires FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.schedules FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.segment_refs FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.snapshot_rows FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.subject_head FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.subjects FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.tasks FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.timers FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON public.worker_sessions FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER show_approval BEFORE INSERT ON public.outbox FOR EACH ROW WHEN ((new.topic = 'approval/shown'::text)) EXECUTE FUNCTION public.show_approval();

CREATE TRIGGER token_grows BEFORE UPDATE ON public.leases FOR EACH ROW WHEN ((new.token < old.token)) EXECUTE FUNCTION public.guard_lease();

CREATE TRIGGER wake_rises BEFORE UPDATE OF wake ON public.leases FOR EACH ROW WHEN ((new.wake > old.wake)) EXECUTE FUNCTION public.raise_wake();

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(project_id);

ALTER TABLE ONLY public.ask_outcome
    ADD CONSTRAINT ask_outcome_exchange_id_fkey FOREIGN KEY (exchange_id) REFERENCES public.ask_prepared(exchange_id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.ask_outcome
    ADD CONSTRAINT ask_outcome_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.chat_session(session_id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.ask_outcome
    ADD CONSTRAINT ask_outcome_turn_aurora_id_fkey FOREIGN KEY (turn_aurora_id) REFERENCES public.chat_turn(turn_id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.ask_prepared
    ADD CONSTRAINT ask_prepared_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.chat_session(session_id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.ask_prepared
    ADD CONSTRAINT ask_prepared_turn_user_id_fkey FOREIGN KEY (turn_user_id) REFERENCES public.chat_turn(turn_id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.ask_session
    ADD CONSTRAINT ask_session_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.chat_session(session_id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.chat_turn
    ADD CONSTRAINT chat_turn_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.chat_session(session_id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.content_refs
    ADD CONSTRAINT content_refs_hash_fkey FOREIGN KEY (hash) REFERENCES public.contents(hash);

ALTER TABLE ONLY public.context_artifact_ref
    ADD CONSTRAINT context_artifact_ref_exchange_id_fkey FOREIGN KEY (exchange_id) REFERENCES public.ask_prepared(exchange_id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.delivery_attempts
    ADD CONSTRAINT delivery_attempts_message_id_fkey FOREIGN KEY (message_id) REFERENCES public.deliveries(message_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.driftwatch
    ADD CONSTRAINT driftwatch_exchange_id_fkey FOREIGN KEY (exchange_id) REFERENCES public.ask_prepared(exchange_id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.driftwatch
    ADD CONSTRAINT driftwatch_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.chat_session(session_id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.schedule_fires
    ADD CONSTRAINT schedule_fires_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES public.schedules(schedule_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(project_id);

ALTER TABLE ONLY public.segment_refs
    ADD CONSTRAINT segment_refs_hash_fkey FOREIGN KEY (hash) REFERENCES public.contents(hash);

ALTER TABLE public.journal_rows ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.journal_segments ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.other_attempts ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.other_completions ENABLE ROW LEVEL SECURITY;

CREATE POLICY read_by_all ON public.journal_rows FOR SELECT USING (true);

CREATE POLICY read_by_all ON public.journal_segments FOR SELECT USING (true);

CREATE POLICY read_by_all ON public.other_attempts FOR SELECT USING (true);

CREATE POLICY read_by_all ON public.other_completions FOR SELECT USING (true);

CREATE POLICY written_under_a_lease ON public.journal_rows FOR INSERT WITH CHECK ((token = COALESCE(( SELECT l.token
   FROM public.leases l
  WHERE (l.subject_id = journal_rows.subject_id)), token)));

CREATE POLICY written_under_a_lease ON public.journal_segments FOR INSERT WITH CHECK ((token = ( SELECT l.token
   FROM public.leases l
  WHERE (l.subject_id = journal_segments.subject_id))));

CREATE POLICY written_under_a_lease ON public.other_attempts FOR INSERT WITH CHECK ((token = ( SELECT l.token
   FROM public.leases l
  WHERE (l.subject_id = other_attempts.subject_id))));

CREATE POLICY written_under_a_lease ON public.other_completions FOR INSERT WITH CHECK ((token = ( SELECT l.token
   FROM public.leases l
  WHERE (l.subject_id = other_completions.subject_id))));

GRANT ALL ON SCHEMA public TO acl_owner;
GRANT USAGE ON SCHEMA public TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.deliveries TO acl_service;

REVOKE ALL ON FUNCTION public.collect_contents(p_grace_ms bigint, p_at timestamp with time zone, p_hash bytea, p_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.collect_contents(p_grace_ms bigint, p_at timestamp with time zone, p_hash bytea, p_max integer) TO acl_service;

REVOKE ALL ON FUNCTION public.drop_segments(p_keep_ms bigint, p_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.drop_segments(p_keep_ms bigint, p_max integer) TO acl_service;

REVOKE ALL ON FUNCTION public.new_epoch(p_above bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.release_chunks() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.remove_contents(p_subject uuid, p_upto_seq bigint) FROM PUBLIC;

GRANT SELECT ON TABLE public.api_keys TO acl_service;

GRANT SELECT,INSERT,UPDATE ON TABLE public.approvals TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.ask_outcome TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.ask_prepared TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.ask_session TO acl_service;

GRANT SELECT,INSERT ON TABLE public.journal_rows TO acl_service;

GRANT SELECT,INSERT ON TABLE public.other_attempts TO acl_service;

GRANT SELECT ON TABLE public.past_attempts TO acl_service;

GRANT SELECT,INSERT ON TABLE public.attempt_rows TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.chat_session TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.chat_turn TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.checkpoints TO acl_service;

GRANT SELECT,INSERT ON TABLE public.command_answers TO acl_service;

GRANT SELECT,INSERT ON TABLE public.compensation_rows TO acl_service;

GRANT SELECT,INSERT ON TABLE public.subjects TO acl_service;

GRANT SELECT ON TABLE public.compensation_log TO acl_service;

GRANT SELECT,INSERT ON TABLE public.other_completions TO acl_service;

GRANT SELECT,INSERT ON TABLE public.completion_rows TO acl_service;

GRANT SELECT ON TABLE public.completed_steps TO acl_service;

GRANT SELECT,INSERT ON TABLE public.content_chunks TO acl_service;

GRANT SELECT,INSERT ON TABLE public.content_refs TO acl_service;

GRANT SELECT,INSERT ON TABLE public.contents TO acl_service;

GRANT UPDATE(used_at) ON TABLE public.contents TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.context_artifact_ref TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.coordinators TO acl_service;

GRANT SELECT,INSERT ON TABLE public.definition_texts TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.delivery_attempts TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.dispatches TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.driftwatch TO acl_service;

GRANT SELECT,INSERT ON TABLE public.event_rows TO acl_service;

GRANT SELECT ON TABLE public.events TO acl_service;

GRANT SELECT ON TABLE public.fleet_epoch TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.goals TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.inbox TO acl_service;

GRANT SELECT,INSERT ON TABLE public.journal_segments TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.leader_leases TO acl_service;

GRANT SELECT,INSERT ON TABLE public.lease_history TO acl_service;

GRANT SELECT,INSERT,UPDATE ON TABLE public.leases TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.ledger_fact TO acl_service;

GRANT SELECT,INSERT,UPDATE ON TABLE public.listings TO acl_service;

GRANT SELECT ON TABLE public.llm_exchange TO acl_service;

GRANT SELECT ON TABLE public.move TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.object_marks TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.outbox TO acl_service;

GRANT SELECT,INSERT ON TABLE public.projects TO acl_service;

GRANT SELECT,INSERT,UPDATE ON TABLE public.quarantine TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.ready TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.request_keys TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.schedule_fires TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.schedules TO acl_service;

GRANT SELECT,INSERT ON TABLE public.segment_refs TO acl_service;

GRANT SELECT,INSERT,UPDATE ON TABLE public.subject_head TO acl_service;

GRANT SELECT ON TABLE public.session TO acl_service;

GRANT SELECT,INSERT,DELETE ON TABLE public.snapshot_rows TO acl_service;

GRANT SELECT ON TABLE public.snapshots TO acl_service;

GRANT SELECT ON TABLE public.step_attempts TO acl_service;

GRANT SELECT ON TABLE public.step_errors TO acl_service;

GRANT SELECT ON TABLE public.step_inputs TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.tasks TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.timers TO acl_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.worker_sessions TO acl_service;

GRANT SELECT ON TABLE public.workflow_leases TO acl_service;

GRANT SELECT ON TABLE public.workflow_steps TO acl_service;

GRANT SELECT ON TABLE public.workflows TO acl_service;
