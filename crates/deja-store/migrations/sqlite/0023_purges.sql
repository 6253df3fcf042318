-- An answer whose call began before all of its cache was purged is not stored.
ALTER TABLE projects ADD COLUMN purges INTEGER NOT NULL DEFAULT 0;
