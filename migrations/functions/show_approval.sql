-- Turns an outbox row of topic approval/shown (shared/approval/decision_json.h) into a row of `approvals`, in the statement of the commit;
-- the outbox row itself is never stored.
CREATE OR REPLACE FUNCTION show_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO approvals (approval_id, subject_id, project_id, state, request)
  SELECT NEW.key, NEW.subject_id, s.project_id, NEW.payload::json ->> 'state', NEW.payload FROM subjects s WHERE s.subject_id = NEW.subject_id
  ON CONFLICT (approval_id) DO UPDATE SET state = EXCLUDED.state, request = EXCLUDED.request;
  RETURN NULL;
END $$;
