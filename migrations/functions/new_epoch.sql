-- Raises the epoch above everything that was ever given out, and accepts this cluster as the database's own. For the owner, after any
-- restore from a backup (`airun db new-epoch`).
CREATE OR REPLACE FUNCTION new_epoch(p_above bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE v_base bigint;
BEGIN
  UPDATE fleet_epoch SET
    base = greatest(base + 64, 64 * (current_date - date '2020-01-01')::bigint, (coalesce(p_above, 0) >> 32) + 1),
    system_identifier = (SELECT system_identifier FROM pg_control_system()), changed_at = clock_timestamp()
  RETURNING base INTO STRICT v_base;
  RETURN v_base;
END $$;
REVOKE ALL ON FUNCTION new_epoch(bigint) FROM PUBLIC;
