-- The key of a scope is computed from the bytes of its frame now; framed() is given by the program that migrates.
UPDATE scopes SET scope_key = framed(scope_key, project_id,
                                     (SELECT model FROM entries e WHERE e.scope = scopes.scope LIMIT 1), context);
