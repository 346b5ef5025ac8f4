-- How many suspects with so many deaths are granted together, by the slots of the session.
CREATE OR REPLACE FUNCTION trial_group(p_slots int, p_deaths int) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT greatest(1, p_slots >> least(greatest(2 * (p_deaths - 1), 0), 30))
$$;
