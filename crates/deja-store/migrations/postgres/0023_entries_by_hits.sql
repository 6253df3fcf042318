-- oldest: 1
--
-- For browsing by hits. By age and by use entries lie already. Nobody stores while it is built.
CREATE INDEX entries_by_hits ON entries (project_id, hits, entry_id);
