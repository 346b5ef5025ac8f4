-- Document 000's table of events, over event_rows.
-- reads: event_rows
CREATE OR REPLACE VIEW events AS
SELECT event_uuid(e.subject_id, e.seq) AS event_id, e.subject_id AS workflow_id, e.seq AS event_seq, e.type::varchar(50) AS event_type,
       payload_text(e.payload, e.offloaded, e.content_hash)::jsonb AS payload, e.at AS timestamp, e.schema_version::text::varchar(10) AS schema_version,
       e.producer_version::varchar(20) AS producer_version, encode(e.checksum, 'hex')::varchar(64) AS checksum,
       e.token AS fencing_token, e.journal_id, encode(e.chain, 'hex') AS chain, s.project_id
FROM event_rows e JOIN subjects s USING (subject_id);
GRANT SELECT ON events TO acl_service;
