-- oldest: 1
--
-- Requests that were passed on and could not have been hits; requests in a scope that was not seen before, and those of
-- them whose instructions were not seen before either.
ALTER TABLE rollups
    ADD COLUMN passed           bigint NOT NULL DEFAULT 0,
    ADD COLUMN new_scopes       bigint NOT NULL DEFAULT 0,
    ADD COLUMN new_instructions bigint NOT NULL DEFAULT 0;
