-- The shard of a subject's ready rows, 0 to 3: the last two bits of its id.
CREATE OR REPLACE FUNCTION ready_shard(p_subject uuid) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT (get_byte(uuid_send(p_subject), 15) & 3)::smallint $$;
