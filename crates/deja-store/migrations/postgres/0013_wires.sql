-- oldest: 1
--
-- Requests in wire formats: the kind and the parameters of a frame, as a JSON object, NULL where there are none; whether its
-- prompts are found by their hash only; and the whole answer as plain JSON of its wire format. Programs of older versions
-- know neither kinds nor records, and find none of these entries: their scopes have other keys. They may make vectors for
-- exact ones, which nobody compares.
ALTER TABLE entries
    ADD COLUMN kind       text    NOT NULL DEFAULT 'query',
    ADD COLUMN parameters text,
    ADD COLUMN exact      boolean NOT NULL DEFAULT false,
    ADD COLUMN record     bytea;
