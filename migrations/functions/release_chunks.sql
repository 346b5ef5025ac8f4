-- Gives up a removed snapshot's references to contents that no kept snapshot of the subject names (the two newest count; snapshots that
-- end journals have segment_refs). It runs behind the statement that removed the row, so the newer snapshot's references are there
-- already. With the owner's rights, because the service may remove no reference itself. used_at is raised, since somebody may still be
-- reading the snapshot: the collector looks again after its grace time. It waits for no row that another has locked.
CREATE OR REPLACE FUNCTION release_chunks() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
REVOKE ALL ON FUNCTION release_chunks() FROM PUBLIC;
