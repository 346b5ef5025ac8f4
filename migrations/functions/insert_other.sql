-- Makes the views attempt_rows and completion_rows writable, and keeps their keys over both forms: what stands in an event cannot stand
-- beside the events too (invariant 3).
CREATE OR REPLACE FUNCTION insert_other() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'attempt_rows' THEN
    IF EXISTS (SELECT FROM event_rows e WHERE e.subject_id = NEW.subject_id AND e.begun = NEW.step_id AND e.begun_attempt = NEW.attempt_id) THEN
      RAISE EXCEPTION 'attempt % of step % of % was made before', NEW.attempt_id, NEW.step_id, NEW.subject_id USING ERRCODE = '23505';
    END IF;
    INSERT INTO other_attempts (subject_id, step_id, attempt_id, token, started_at)
      VALUES (NEW.subject_id, NEW.step_id, NEW.attempt_id, NEW.token, NEW.started_at);
  ELSE
    IF EXISTS (SELECT FROM event_rows e WHERE e.subject_id = NEW.subject_id AND e.completed = NEW.step_id) THEN
      RAISE EXCEPTION 'step % of % was completed before', NEW.step_id, NEW.subject_id USING ERRCODE = '23505';
    END IF;
    INSERT INTO other_completions (subject_id, step_id, attempt_id, token, event_seq, completed_at, result_checksum)
      VALUES (NEW.subject_id, NEW.step_id, NEW.attempt_id, NEW.token, NEW.event_seq, NEW.completed_at, NEW.result_checksum);
  END IF;
  RETURN NEW;
END $$;
