-- Records that an object is written: from here on the content is stored. False: its mark was condemned because the put took longer than
-- the grace time, and nothing was written. If another put of the same content was faster, that one's object stays and this one is
-- condemned.
CREATE OR REPLACE FUNCTION finish_object(p_key text, p_hash bytea, p_size bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
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
