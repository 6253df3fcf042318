-- oldest: 1
--
-- The key of a scope is computed from the bytes of its frame now. Programs of older versions go on with the keys they
-- compute: until they have ended, neither side finds what the other stores, nor they what was there before.

-- Nobody stores meanwhile; graphs are dropped, because moving every vector in them takes hours, and built again.
LOCK TABLE entries, vectors IN SHARE ROW EXCLUSIVE MODE;
DO $$
DECLARE graph text;
BEGIN
    FOR graph IN SELECT indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                 WHERE i.indrelid = 'vectors'::regclass AND c.relname LIKE 'vectors\_graph\_%'
    LOOP
        EXECUTE 'DROP INDEX ' || graph;
    END LOOP;
END $$;

-- What was hashed for a model or a context before: 0 or 1, its length with the smallest byte first, itself.
CREATE FUNCTION part_before(part bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce('\x01'::bytea || (SELECT string_agg(substring(int8send(octet_length(part)) FROM byte FOR 1),
                                                        ''::bytea ORDER BY byte DESC)
                                      FROM generate_series(1, 8) byte) || part, '\x00'::bytea)
$$;
CREATE FUNCTION key_before(project uuid, model bytea, context bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(uuid_send(project) || part_before(model) || part_before(context))
$$;
-- Version 1, a query, model, context, no parameters, no history.
CREATE FUNCTION key_of_frame(project uuid, model bytea, context bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(uuid_send(project) || '\x0101'::bytea
                  || coalesce('\x01'::bytea || int8send(octet_length(model)) || model, '\x00'::bytea)
                  || coalesce('\x01'::bytea || int8send(octet_length(context)) || context, '\x00'::bytea)
                  || int8send(0) || '\x00'::bytea)
$$;

-- One entry of each scope says what it is: of its model, or shared by all models.
UPDATE entries e SET scope_key = s.framed
FROM (SELECT project_id, scope_key,
             CASE scope_key WHEN key_before(project_id, model, context) THEN key_of_frame(project_id, model, context)
                            WHEN key_before(project_id, NULL, context) THEN key_of_frame(project_id, NULL, context)
             END AS framed
      FROM (SELECT DISTINCT ON (project_id, scope_key) project_id, scope_key, model, context FROM entries) one) s
WHERE e.project_id = s.project_id AND e.scope_key = s.scope_key AND s.framed IS NOT NULL;

UPDATE vectors v SET scope_key = e.scope_key
FROM entries e WHERE e.project_id = v.project_id AND e.entry_id = v.entry_id;

DROP FUNCTION key_of_frame, key_before, part_before;
