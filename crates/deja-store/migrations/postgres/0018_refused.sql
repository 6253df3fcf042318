-- oldest: 1
--
-- Why requests were refused; how many had no known price, and prompts longer than the embedding model reads.
ALTER TABLE rollups
    ADD COLUMN unknown_models   bigint NOT NULL DEFAULT 0,
    ADD COLUMN forbidden_models bigint NOT NULL DEFAULT 0,
    ADD COLUMN closed_projects  bigint NOT NULL DEFAULT 0,
    ADD COLUMN not_cached       bigint NOT NULL DEFAULT 0,
    ADD COLUMN unpriced         bigint NOT NULL DEFAULT 0,
    ADD COLUMN too_long         bigint NOT NULL DEFAULT 0;
