-- Whether the subject has a lease row at all: the commit statement asks when a lease was not locked, to tell a fenced item from an unknown
-- subject.
CREATE OR REPLACE FUNCTION has_lease(p_subject uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce((SELECT true FROM leases l WHERE l.subject_id = p_subject), false);
END $$;
