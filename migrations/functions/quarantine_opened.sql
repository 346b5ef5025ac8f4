-- Quarantines a subject whose journal does not verify, in the transaction of the command that opened it. Nothing is decided on it until a
-- person has looked.
CREATE OR REPLACE FUNCTION quarantine_opened(p_subject uuid, p_token bigint, p_reason text, p_detail text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE leases l SET state = 2 WHERE l.subject_id = p_subject AND l.session_id IS NULL AND l.token = p_token AND l.state = 0;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the lease of % is not open under token %', p_subject, p_token USING ERRCODE = 'AC001';
  END IF;
  INSERT INTO quarantine (subject_id, reason, detail, at) VALUES (p_subject, p_reason, p_detail, clock_timestamp());
END $$;
