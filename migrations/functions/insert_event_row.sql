-- Makes the view event_rows writable: an unpacked event goes to journal_rows as it is.
CREATE OR REPLACE FUNCTION insert_event_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO journal_rows (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, chain, payload, offloaded,
                            completed, completed_attempt, result_checksum, begun, begun_attempt, begun_at)
    VALUES (NEW.subject_id, NEW.seq, NEW.journal_id, NEW.type, NEW.schema_version, NEW.producer_version, NEW.token, NEW.at, NEW.checksum,
            nullif(NEW.content_hash, NEW.checksum), NEW.chain, NEW.payload, NEW.offloaded, NEW.completed, NEW.completed_attempt, NEW.result_checksum,
            NEW.begun, NEW.begun_attempt, NEW.begun_at);
  RETURN NEW;
END $$;
