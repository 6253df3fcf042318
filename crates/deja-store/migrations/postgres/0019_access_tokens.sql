-- oldest: 1
--
-- Personal access tokens of operators, by the hash of the token.
CREATE TABLE access_tokens (
    hash        bytea  NOT NULL PRIMARY KEY,
    operator_id uuid   NOT NULL REFERENCES operators ON DELETE CASCADE,
    name        text   NOT NULL,
    shown       text   NOT NULL,
    created     bigint NOT NULL,
    expires     bigint NOT NULL,
    last_used   bigint
);

CREATE INDEX access_tokens_by_operator ON access_tokens (operator_id, created);
