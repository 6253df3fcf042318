-- Why requests were refused; how many had no known price, and prompts longer than the embedding model reads.
ALTER TABLE rollups ADD COLUMN unknown_models INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN forbidden_models INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN closed_projects INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN not_cached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN too_long INTEGER NOT NULL DEFAULT 0;
