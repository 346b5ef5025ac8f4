-- Events are immutable (invariant 1), with two exceptions, both for the owner alone: remove_contents takes an event's content away, which
-- the chain covers by its hash; and drop_segments deletes events of journals that are on record as dropped.
CREATE OR REPLACE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND current_user = 'acl_owner' AND NEW.payload IS NULL AND NOT NEW.offloaded AND NEW.root IS NULL THEN
    OLD.payload := NULL;
    OLD.offloaded := false;
    OLD.root := NULL;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  ELSIF TG_OP = 'DELETE' AND current_user = 'acl_owner'
      AND EXISTS (SELECT FROM journal_segments g WHERE g.subject_id = OLD.subject_id AND g.first_seq > OLD.seq AND g.dropped_at IS NOT NULL) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% of event_rows is refused: events are immutable', TG_OP USING ERRCODE = '42501';
END $$;
