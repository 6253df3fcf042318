-- oldest: 1
--
-- Why a scope was new whose instructions were not: its earlier turns, its context, its end user, another parameter.
ALTER TABLE rollups
    ADD COLUMN new_turns      bigint NOT NULL DEFAULT 0,
    ADD COLUMN new_contexts   bigint NOT NULL DEFAULT 0,
    ADD COLUMN new_end_users  bigint NOT NULL DEFAULT 0,
    ADD COLUMN new_parameters bigint NOT NULL DEFAULT 0;
