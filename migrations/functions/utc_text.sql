-- A time as the journals write it: UTC, microseconds.
CREATE OR REPLACE FUNCTION utc_text(p_at timestamptz) RETURNS text LANGUAGE sql STABLE AS
  $$ SELECT to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;
