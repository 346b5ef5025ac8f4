-- migrate:up
-- A snapshot's chunks are referred to for as long as the snapshot is kept, not for as long as its subject lives: references say which of
-- the two they are, and those of a snapshot go when its row goes (a subject keeps its last two).
SET LOCAL ROLE acl_owner;

-- References of before this version count as those of events, which stay.
-- squawk-ignore constraint-missing-not-valid, adding-serial-primary-key-field
ALTER TABLE content_refs ADD COLUMN snapshot boolean NOT NULL DEFAULT false, DROP CONSTRAINT content_refs_pkey, ADD PRIMARY KEY (hash, subject_id, snapshot);

-- The hashes in a snapshot's list of chunks.
CREATE FUNCTION chunk_hashes(p_chunks bytea) RETURNS SETOF bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT substr(p_chunks, n, 32) FROM generate_series(1, coalesce(length(p_chunks), 0), 32) n
$$;

-- After the statement that removed the row, the newer snapshot's references are there already. The service role may remove no reference
-- itself: this function does, and only what no kept snapshot of the subject names. What is released is looked at again after the grace, for
-- somebody may be reading the snapshot; a row that another has locked is being put again or collected: nothing here waits for it.
CREATE FUNCTION release_chunks() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE v_released bytea[];
BEGIN
  WITH released AS (
    DELETE FROM content_refs r USING (
      SELECT chunk_hashes(OLD.chunks) AS hash
      EXCEPT SELECT chunk_hashes(s.chunks) FROM snapshot_rows s WHERE s.subject_id = OLD.subject_id) gone
    WHERE r.hash = gone.hash AND r.subject_id = OLD.subject_id AND r.snapshot RETURNING r.hash)
  SELECT coalesce(array_agg(x.hash), '{}') INTO v_released FROM released x;
  WITH mine AS MATERIALIZED (
    SELECT c.hash FROM contents c WHERE c.hash = ANY (v_released) AND c.used_at IS NOT NULL ORDER BY c.hash FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE contents c SET used_at = clock_timestamp() FROM mine m WHERE c.hash = m.hash;
  RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION release_chunks() FROM PUBLIC;
CREATE TRIGGER chunks_released AFTER DELETE ON snapshot_rows FOR EACH ROW WHEN (OLD.chunks IS NOT NULL) EXECUTE FUNCTION release_chunks();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
