-- For browsing by hits. By age and by use entries lie already.
CREATE INDEX entries_by_hits ON entries (project_id, hits, entry_id);
