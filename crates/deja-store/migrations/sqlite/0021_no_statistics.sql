-- Statistics were made when a database was closed. Of a store that had one scope then, and many before it was killed,
-- they said that a scope is found by reading all scopes: its next start took hours. Without them no plan depends on
-- when the database was last closed.
DROP TABLE IF EXISTS sqlite_stat1;
DROP TABLE IF EXISTS sqlite_stat4;
