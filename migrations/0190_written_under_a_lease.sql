-- migrate:up
-- Rights said that the service may insert into journals; a policy says into which: of a subject whose lease has the token that the row names. The statements that commit
-- prove more (session, wake-up counter, expected head), but a statement that forgets to, or a person at psql with the
-- service's login, is refused by this. Read only by its key: an index lookup a row.
-- Where no lease is seen, the same statement makes the subject, its lease and its first events: guard_lease keeps a lease as long as its subject.
SET LOCAL ROLE acl_owner;

ALTER TABLE journal_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY read_by_all ON journal_rows FOR SELECT USING (true);
CREATE POLICY written_under_a_lease ON journal_rows FOR INSERT
  WITH CHECK (token = coalesce((SELECT l.token FROM leases l WHERE l.subject_id = journal_rows.subject_id), token));

ALTER TABLE other_attempts ENABLE ROW LEVEL SECURITY;
CREATE POLICY read_by_all ON other_attempts FOR SELECT USING (true);
CREATE POLICY written_under_a_lease ON other_attempts FOR INSERT
  WITH CHECK (token = (SELECT l.token FROM leases l WHERE l.subject_id = other_attempts.subject_id));

ALTER TABLE other_completions ENABLE ROW LEVEL SECURITY;
CREATE POLICY read_by_all ON other_completions FOR SELECT USING (true);
CREATE POLICY written_under_a_lease ON other_completions FOR INSERT
  WITH CHECK (token = (SELECT l.token FROM leases l WHERE l.subject_id = other_completions.subject_id));

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
