-- oldest: 1
--
-- Second factors of operators: the sealed secret, the last step whose code was used, and hashes of the recovery codes left.
CREATE TABLE second_factors (
    operator_id uuid    NOT NULL PRIMARY KEY REFERENCES operators ON DELETE CASCADE,
    secret      bytea   NOT NULL,
    since       bigint  NOT NULL,
    last_step   bigint  NOT NULL,
    recovery    bytea[] NOT NULL
);
