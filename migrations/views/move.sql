-- Document 003's table of moves: the events of agents whose type begins with `move.`. How a move changed the state stands in the event
-- alone.
-- reads: events
CREATE OR REPLACE VIEW move AS
SELECT e.event_id AS id, e.timestamp AS time, substr(e.event_type, 6) AS type, e.workflow_id AS session,
       e.payload - 'state_delta' - 'state_root' AS data, e.event_seq, e.project_id
FROM events e JOIN subjects s ON s.subject_id = e.workflow_id
WHERE s.kind = 'agent' AND starts_with(e.event_type, 'move.');
GRANT SELECT ON move TO acl_service;
