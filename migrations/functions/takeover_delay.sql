-- How long a subject waits before it is ready again, by its deaths in a row.
CREATE OR REPLACE FUNCTION takeover_delay(p_deaths int) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_deaths < 2 THEN interval '0' ELSE least(2 ^ least(p_deaths - 2, 10), 4) * interval '1 second' END
$$;
