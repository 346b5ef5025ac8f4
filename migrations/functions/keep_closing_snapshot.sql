-- Nobody but the owner removes a snapshot that ends a journal: it stays until the owner drops what is before it (drop_segments).
CREATE OR REPLACE FUNCTION keep_closing_snapshot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE WHEN current_user = 'acl_owner' THEN OLD END;
END $$;
