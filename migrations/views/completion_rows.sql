-- Every completion of every step: in the event that completes it, or beside the events (other_completions). Inserts go to
-- other_completions.
CREATE OR REPLACE VIEW completion_rows AS
SELECT o.subject_id, o.step_id, o.attempt_id, o.token, o.event_seq, o.completed_at, o.result_checksum FROM other_completions o
UNION ALL
SELECT e.subject_id, e.completed, e.completed_attempt, e.token, e.seq, e.at, e.result_checksum FROM journal_rows e WHERE e.completed IS NOT NULL;
GRANT SELECT, INSERT ON completion_rows TO acl_service;
CREATE OR REPLACE TRIGGER insert_other INSTEAD OF INSERT ON completion_rows FOR EACH ROW EXECUTE FUNCTION insert_other();
CREATE OR REPLACE TRIGGER immutable INSTEAD OF UPDATE OR DELETE ON completion_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();
