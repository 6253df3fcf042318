-- oldest: 1
--
-- A key's own limit, and from when on it is refused; NULL where there is none. Programs of older versions know neither:
-- while they run beside newer ones, they let such keys pass as if they had none.
ALTER TABLE keys
    ADD COLUMN quota_per_minute integer,
    ADD COLUMN quota_burst      integer,
    ADD COLUMN expires          bigint;

-- As buckets, for keys with a limit of their own.
CREATE UNLOGGED TABLE key_buckets (
    project_id uuid    NOT NULL,
    key_id     uuid    NOT NULL,
    full_at    bigint  NOT NULL,
    seen       bigint  NOT NULL,
    allowed    boolean NOT NULL,
    PRIMARY KEY (project_id, key_id)
) WITH (fillfactor = 50);
