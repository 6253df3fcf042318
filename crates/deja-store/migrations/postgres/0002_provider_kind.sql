-- oldest: 1
--
-- What a project's own provider speaks. Programs of version 1 know one kind: what they add is of it, and one of
-- another kind fails with them as a server that does not understand them would.
ALTER TABLE providers ADD COLUMN kind text NOT NULL DEFAULT 'openai';
