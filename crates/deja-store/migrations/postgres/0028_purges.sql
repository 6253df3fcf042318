-- oldest: 1
--
-- An answer whose call began before all of its cache was purged is not stored. Programs of older versions neither count purges nor
-- ask.
ALTER TABLE projects ADD COLUMN purges bigint NOT NULL DEFAULT 0;

-- Counts a purge. Waits for the statements that store an answer now: the purge finds what they stored.
CREATE FUNCTION note_purge(of_project uuid) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(of_project::text, 1));
    UPDATE projects p SET purges = p.purges + 1 WHERE p.project_id = of_project;
END
$$;

-- Whether a project was purged so often and no more, until the end of the transaction. A function: its query sees what was
-- committed before it had the lock. The statement that calls it sees what was committed before the statement.
CREATE FUNCTION was_purged(of_project uuid, so_often bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(of_project::text, 1));
    RETURN EXISTS (SELECT FROM projects p WHERE p.project_id = of_project AND p.purges = so_often);
END
$$;
