-- oldest: 1
--
-- Sums by day (step 86400), so that a month is answered from 30 rows a slice. Latencies and similarities of the days
-- before this version stay with their hours. Programs of older versions write none: what they count while both run is
-- missing in the day's sums, and is in the hours'.
INSERT INTO rollups
SELECT project_id, 86400, dimensions, period / 24, key_id, model, context, sum(exact_hits)::bigint,
       sum(semantic_hits)::bigint, sum(misses)::bigint, sum(errors)::bigint, sum(refused)::bigint,
       sum(rate_limited)::bigint, sum(input_tokens)::bigint, sum(output_tokens)::bigint,
       sum(saved_input_tokens)::bigint, sum(saved_output_tokens)::bigint, sum(saved)::bigint, sum(spent)::bigint,
       '{}'
FROM rollups WHERE step = 3600 GROUP BY project_id, dimensions, period / 24, key_id, model, context;
