-- The content hashes in a snapshot's list of chunks (snapshot_rows.chunks: 32 bytes each, in the order of the trie).
CREATE OR REPLACE FUNCTION chunk_hashes(p_chunks bytea) RETURNS SETOF bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT substr(p_chunks, n, 32) FROM generate_series(1, coalesce(length(p_chunks), 0), 32) n
$$;
