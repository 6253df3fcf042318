-- Sums by day (step 86400), so that a month is answered from 30 rows a slice. Latencies and similarities of the days
-- before this version stay with their hours.
INSERT INTO rollups
SELECT project_id, 86400, dimensions, period / 24, key_id, model, context, sum(exact_hits), sum(semantic_hits),
       sum(misses), sum(errors), sum(refused), sum(rate_limited), sum(input_tokens), sum(output_tokens),
       sum(saved_input_tokens), sum(saved_output_tokens), sum(saved), sum(spent), x''
FROM rollups WHERE step = 3600 GROUP BY project_id, dimensions, period / 24, key_id, model, context;
