-- Of a content only the time of its last use may change.
CREATE OR REPLACE FUNCTION refuse_content_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  OLD.used_at := NEW.used_at;
  IF OLD IS NOT DISTINCT FROM NEW THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION '% of contents is refused: its rows are written once', TG_OP USING ERRCODE = '42501';
END $$;
