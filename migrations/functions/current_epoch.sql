-- The epoch of fencing tokens: the base of fleet_epoch plus the WAL timeline, so a failover raises it by itself and cannot lose it. A
-- restored dump or a copied data directory may stand on an older timeline: then the cluster's identifier differs, and no token is minted
-- until `airun db new-epoch`. The identifier is read once a session, for a server process belongs to one cluster all its life; the
-- timeline is read each time, for a standby's sessions outlive its promotion. Error AC004: the database was restored or copied.
CREATE OR REPLACE FUNCTION current_epoch() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
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
