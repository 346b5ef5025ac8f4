-- Quarantines a subject that its holder cannot trust: the lease is free, and nobody is granted it until a person releases it.
CREATE OR REPLACE FUNCTION quarantine_subject(p_subject uuid, p_session uuid, p_token bigint, p_reason text, p_detail text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE leases l SET session_id = NULL, state = 2, acquired_at = NULL
    WHERE l.subject_id = p_subject AND l.session_id = p_session AND l.token = p_token AND l.state = 0;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the lease of % is not held under token %', p_subject, p_token USING ERRCODE = 'AC001';
  END IF;
  INSERT INTO quarantine (subject_id, reason, detail, at) VALUES (p_subject, p_reason, p_detail, clock_timestamp());
END $$;
