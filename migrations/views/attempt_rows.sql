-- Every attempt of every step, whichever form it has: in the event it began with (journal_rows.begun), beside the events (other_attempts),
-- or of events that were dropped (past_attempts). Inserts go to other_attempts.
CREATE OR REPLACE VIEW attempt_rows AS
SELECT o.subject_id, o.step_id, o.attempt_id, o.token, o.started_at FROM other_attempts o
UNION ALL
SELECT e.subject_id, e.begun, e.begun_attempt, e.token, coalesce(e.begun_at, e.at) FROM journal_rows e WHERE e.begun IS NOT NULL
UNION ALL
SELECT p.subject_id, p.step_id, p.attempt_id, p.token, p.started_at FROM past_attempts p;
GRANT SELECT, INSERT ON attempt_rows TO acl_service;
CREATE OR REPLACE TRIGGER insert_other INSTEAD OF INSERT ON attempt_rows FOR EACH ROW EXECUTE FUNCTION insert_other();
CREATE OR REPLACE TRIGGER immutable INSTEAD OF UPDATE OR DELETE ON attempt_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();
