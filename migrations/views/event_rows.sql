-- Events with their payloads as they were written. journal_rows is the table; its payloads may be packed and its content hash left out.
-- Inserts go there.
CREATE OR REPLACE VIEW event_rows AS
SELECT subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, coalesce(content_hash, checksum) AS content_hash, chain,
       CASE WHEN root IS NULL THEN payload ELSE unpack_payload(payload, root, at, completed, begun) END AS payload,
       offloaded, completed, completed_attempt, result_checksum, begun, begun_attempt, begun_at
FROM journal_rows;
ALTER VIEW event_rows ALTER COLUMN offloaded SET DEFAULT false;
GRANT SELECT, INSERT ON event_rows TO acl_service;
CREATE OR REPLACE TRIGGER insert_event_row INSTEAD OF INSERT ON event_rows FOR EACH ROW EXECUTE FUNCTION insert_event_row();
CREATE OR REPLACE TRIGGER immutable INSTEAD OF UPDATE OR DELETE ON event_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();
