-- A key's own limit, and from when on it is refused; NULL where there is none.
ALTER TABLE keys ADD COLUMN quota_per_minute INTEGER;
ALTER TABLE keys ADD COLUMN quota_burst INTEGER;
ALTER TABLE keys ADD COLUMN expires INTEGER;
