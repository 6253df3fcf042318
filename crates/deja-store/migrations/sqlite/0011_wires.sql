-- Requests in wire formats: the kind and the parameters of a frame, as a JSON object, NULL where there are none; and whether
-- its prompts are found by their hash only.
ALTER TABLE scopes ADD COLUMN kind TEXT NOT NULL DEFAULT 'query';
ALTER TABLE scopes ADD COLUMN parameters TEXT;
ALTER TABLE scopes ADD COLUMN exact INTEGER NOT NULL DEFAULT 0;

-- The whole answer as plain JSON of its wire format. At the end of the row: who reads the text does not read it.
ALTER TABLE entries ADD COLUMN record BLOB;
