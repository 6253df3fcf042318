-- Personal access tokens of operators, by the hash of the token.
CREATE TABLE access_tokens (
    hash        BLOB    NOT NULL PRIMARY KEY,
    operator_id BLOB    NOT NULL REFERENCES operators ON DELETE CASCADE,
    name        TEXT    NOT NULL,
    shown       TEXT    NOT NULL,
    created     INTEGER NOT NULL,
    expires     INTEGER NOT NULL,
    last_used   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX access_tokens_by_operator ON access_tokens (operator_id, created);
