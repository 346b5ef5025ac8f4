-- The token of everything that is created now: the first of the epoch.
CREATE OR REPLACE FUNCTION first_token() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT (current_epoch() << 32) + 1 $$;
