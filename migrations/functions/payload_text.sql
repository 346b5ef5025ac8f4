-- The text of a payload wherever PostgreSQL holds it. Null if it was removed, or lies in an object store.
CREATE OR REPLACE FUNCTION payload_text(p_payload text, p_offloaded boolean, p_hash bytea) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN p_offloaded THEN (SELECT convert_from(string_agg(c.bytes, ''::bytea ORDER BY c.number), 'UTF8') FROM content_chunks c WHERE c.hash = p_hash)
              ELSE p_payload END
$$;
