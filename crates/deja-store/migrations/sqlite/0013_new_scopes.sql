-- Why a scope was new whose instructions were not: its earlier turns, its context, its end user, another parameter.
ALTER TABLE rollups ADD COLUMN new_turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN new_contexts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN new_end_users INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN new_parameters INTEGER NOT NULL DEFAULT 0;
