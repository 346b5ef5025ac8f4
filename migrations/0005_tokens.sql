-- migrate:up
-- Tokens and sessions (DESIGN.md section 2, "Token", "Heartbeat"). Own error codes: AC001 lease or session lost, AC002 conflict,
-- AC003 not found, AC004 the database is not the one the epoch was made for, AC005 invalid, AC006 a bug of ours.
SET LOCAL ROLE acl_owner;

-- The epoch grows by itself with the WAL timeline, so a failover can lose no row that holds it. A dump restored elsewhere, or a copied
-- data directory, falls back to an older timeline: then the system identifier differs and nothing is minted until `airun db new-epoch`.
CREATE FUNCTION current_epoch() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_base bigint;
  v_system bigint;
  v_here bigint;
BEGIN
  SELECT base, system_identifier INTO STRICT v_base, v_system FROM fleet_epoch;
  SELECT system_identifier INTO STRICT v_here FROM pg_control_system();
  IF v_system <> v_here THEN
    RAISE EXCEPTION 'no fencing token can be minted: this database was made on cluster % and is on % now (restored or copied)', v_system, v_here
      USING ERRCODE = 'AC004', HINT = 'run: airun db new-epoch [--above HIGHEST_TOKEN_EVER_SEEN]';
  END IF;
  RETURN v_base + ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
END $$;

-- The only function that makes tokens: one for each old one (0: none yet), at least old + 1, in the current epoch, below 2^53.
CREATE FUNCTION mint_tokens(p_old bigint[]) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
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

-- After any restore from a backup: an epoch above everything that was ever given out. Owner only.
CREATE FUNCTION new_epoch(p_above bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE v_base bigint;
BEGIN
  UPDATE fleet_epoch SET
    base = greatest(base + 64, 64 * (current_date - date '2020-01-01')::bigint, (coalesce(p_above, 0) >> 32) + 1),
    system_identifier = (SELECT system_identifier FROM pg_control_system()), changed_at = clock_timestamp()
  RETURNING base INTO STRICT v_base;
  RETURN v_base;
END $$;
REVOKE ALL ON FUNCTION new_epoch(bigint) FROM PUBLIC;

-- Lock first, clock second: an UPDATE that waited for a row that was only locked does not test its WHERE again.
CREATE FUNCTION heartbeat_session(p_session uuid, p_ttl_ms bigint) RETURNS TABLE (db_now timestamptz, woken uuid) LANGUAGE plpgsql VOLATILE AS $$
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
  RETURN QUERY SELECT v_now, NULL::uuid;
  RETURN QUERY SELECT DISTINCT v_now, i.subject_id FROM inbox i WHERE i.session_id = p_session;
END $$;

-- Marking dead takes the row FOR UPDATE, which no grant (FOR KEY SHARE) can stand beside.
CREATE FUNCTION close_session(p_session uuid) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM 1 FROM worker_sessions s WHERE s.session_id = p_session FOR UPDATE;
  UPDATE worker_sessions s SET dead_at = clock_timestamp(), end_kind = 2 WHERE s.session_id = p_session AND s.dead_at IS NULL;
END $$;

-- Jobs of a coordinator: a lease of its own kind, lock first, clock second; free once expired or its holder is known dead. No row:
-- another process has it.
CREATE FUNCTION hold_leader_lease(p_name text, p_session uuid, p_ttl_ms bigint) RETURNS TABLE (held_token bigint, held_until timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
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

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
