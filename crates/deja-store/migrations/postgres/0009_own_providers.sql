-- oldest: 1
--
-- Names the state of a project's own providers, so that a process that has read it need not read it again; NULL where
-- there never were any. The database keeps it, since programs of older versions change providers too. It is random,
-- not a count: after a restore of the database a number could name another state than before.
ALTER TABLE projects ADD COLUMN providers_version uuid;

CREATE FUNCTION providers_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE projects SET providers_version = gen_random_uuid()
    WHERE project_id = coalesce(NEW.project_id, OLD.project_id);
    RETURN NULL;
END
$$;

CREATE TRIGGER providers_changed AFTER INSERT OR UPDATE OR DELETE ON providers
FOR EACH ROW EXECUTE FUNCTION providers_changed();

UPDATE projects p SET providers_version = gen_random_uuid()
WHERE EXISTS (SELECT FROM providers o WHERE o.project_id = p.project_id);
