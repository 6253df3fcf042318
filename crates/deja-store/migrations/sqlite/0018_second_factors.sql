-- Second factors of operators: the sealed secret, and the last step whose code was used.
CREATE TABLE second_factors (
    operator_id BLOB    NOT NULL PRIMARY KEY REFERENCES operators ON DELETE CASCADE,
    secret      BLOB    NOT NULL,
    since       INTEGER NOT NULL,
    last_step   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Hashes of the recovery codes that are left.
CREATE TABLE recovery_codes (
    operator_id BLOB NOT NULL REFERENCES second_factors ON DELETE CASCADE,
    hash        BLOB NOT NULL,
    PRIMARY KEY (operator_id, hash)
) STRICT, WITHOUT ROWID;
