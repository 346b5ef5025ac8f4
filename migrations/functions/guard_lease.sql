-- A lease row stays for as long as its subject exists, and its token only grows (invariant 4).
CREATE OR REPLACE FUNCTION guard_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT FROM subjects WHERE subject_id = OLD.subject_id) THEN
      RAISE EXCEPTION 'DELETE of a lease is refused while its subject % exists', OLD.subject_id USING ERRCODE = '42501';
    END IF;
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'the token of % may only grow: % after %', OLD.subject_id, NEW.token, OLD.token USING ERRCODE = '42501';
END $$;
