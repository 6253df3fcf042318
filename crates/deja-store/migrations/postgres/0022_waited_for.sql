-- oldest: 1
--
-- Whether somebody waits for a flight. PostgreSQL has one lock for all who notify, in whatever database, and holds it until
-- the commit is on disk: only a flight that is waited for may cost that. An older replica does not say that it waits, and
-- looks again after half a second.
ALTER TABLE flights ADD COLUMN waited_for boolean NOT NULL DEFAULT false;
