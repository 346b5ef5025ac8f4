-- For how long a suspect is on trial after its grant.
CREATE OR REPLACE FUNCTION trial_time(p_ttl interval, p_deaths int) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT 3 * p_ttl * 2 ^ least(greatest(p_deaths - 1, 0), 10)
$$;
