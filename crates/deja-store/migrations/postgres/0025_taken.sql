-- oldest: 1
--
-- A statement takes several requests from a bucket, and says how many it took. Programs of older versions take one at a time
-- and say so in allowed, which newer ones leave as it is.
ALTER TABLE buckets ADD COLUMN taken bigint NOT NULL DEFAULT 0, ALTER COLUMN allowed SET DEFAULT false;
ALTER TABLE key_buckets ADD COLUMN taken bigint NOT NULL DEFAULT 0, ALTER COLUMN allowed SET DEFAULT false;
ALTER TABLE feedback_buckets ADD COLUMN taken bigint NOT NULL DEFAULT 0, ALTER COLUMN allowed SET DEFAULT false;
