-- What a project's own provider speaks; until now all spoke OpenAI's format.
ALTER TABLE providers ADD COLUMN kind TEXT NOT NULL DEFAULT 'openai';
