-- The id of an event, derived from its subject and sequence number: a UUID of version 8.
CREATE OR REPLACE FUNCTION event_uuid(p_subject uuid, p_seq bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT encode(set_byte(set_byte(h, 6, (get_byte(h, 6) & 15) | 128), 8, (get_byte(h, 8) & 63) | 128), 'hex')::uuid
  FROM substr(sha256(uuid_send(p_subject) || int8send(p_seq)), 1, 16) AS h
$$;
