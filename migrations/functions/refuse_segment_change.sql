-- A journal's row is written once; the owner records in it when what was before it was dropped.
CREATE OR REPLACE FUNCTION refuse_segment_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND current_user = 'acl_owner' AND OLD.dropped_at IS NULL THEN
    OLD.dropped_at := NEW.dropped_at;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION '% of journal_segments is refused: its rows are written once', TG_OP USING ERRCODE = '42501';
END $$;
