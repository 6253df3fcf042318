-- Requests that were passed on and could not have been hits; requests in a scope that was not seen before, and those of
-- them whose instructions were not seen before either.
ALTER TABLE rollups ADD COLUMN passed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN new_scopes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN new_instructions INTEGER NOT NULL DEFAULT 0;
