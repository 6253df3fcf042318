#!/usr/bin/env python3
"""Makes crates/deja-core/data/prices.json, the price table that is compiled into deja.

Input is the price map of LiteLLM as published (HEADER says where; its Python package has it too, as
model_prices_and_context_window_backup.json) and scripts/prices_later.json, entries in the same
shape that were gathered by hand, each with its source; they win. Kept are models that are billed by the token and
have a price for input and for output, which embedding models have none of, flat or in tiers, and of them only what
deja-core/src/pricing reads. The output is the same for
the same input, one model a line, so that a new snapshot gives a readable diff. Set the dates in HEADER.

A table made before, in front of the map, keeps the models that the map no longer has: answers of theirs are still stored.

    scripts/prices.py [prices.json] model_prices_and_context_window.json[.gz]
"""

import gzip
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LATER = ROOT / "scripts" / "prices_later.json"
OUTPUT = ROOT / "crates" / "deja-core" / "data" / "prices.json"
MODES = {"chat", "responses", "completion", "embedding"}
# A router has the price of the model that it picks; the map says 0.
ROUTERS = {"openrouter/openrouter/auto", "openrouter/openrouter/bodybuilder"}
NO_MODELS = {"sample_spec", "fallback_generalizations", "_deja"} | ROUTERS
PRICE = re.compile(
    r"^((input|output)_cost_per_token|cache_(read|creation)_input_token_cost|cache_creation_input_token_cost_above_1hr)(_above_\d+k_tokens)?$"
)
NEEDED = {"input_cost_per_token", "output_cost_per_token"}
HEADER = {
    "source": "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json",
    "revision": "2026-10-21 (LiteLLM 1.106.2), with later prices of 2026-11-21",
    "as_of": 1795219200,  # the later of these dates at 00:00 UTC, in seconds: prices fetched before it are older
    "licence": "MIT, (c) 2023 Berri AI; reduced and extended by scripts/prices.py",
}


def prices(entry):
    return {name: value for name, value in entry.items() if PRICE.match(name) and value is not None}


def reduced(entry):
    kept = prices(entry)
    if entry["mode"] == "embedding":
        kept.setdefault("output_cost_per_token", 0)
    if not NEEDED <= kept.keys():
        tiers = [prices(tier) | {"range": tier["range"]} for tier in entry.get("tiered_pricing", [])]
        if not tiers or not all(NEEDED <= tier.keys() for tier in tiers):
            return None
        kept["tiered_pricing"] = tiers
    if entry.get("max_output_tokens"):
        kept["max_output_tokens"] = entry["max_output_tokens"]
    kept["litellm_provider"] = entry.get("litellm_provider", "")
    kept["mode"] = entry["mode"]
    return kept


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: scripts/prices.py [prices.json] model_prices_and_context_window.json[.gz]")
    models = {}
    for published in map(pathlib.Path, sys.argv[1:]):
        with (gzip.open if published.suffix == ".gz" else open)(published, "rt", encoding="utf-8") as file:
            models.update(json.load(file))
    models.update(json.loads(LATER.read_text("utf-8")))
    lines = ['"_deja":' + json.dumps(HEADER, separators=(",", ":"))]
    for name in sorted(models.keys() - NO_MODELS):
        entry = models[name]
        kept = reduced(entry) if entry.get("mode") in MODES else None
        if kept:
            lines.append(json.dumps(name) + ":" + json.dumps(kept, sort_keys=True, separators=(",", ":")))
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{len(lines) - 1} models, {OUTPUT.stat().st_size} bytes: {OUTPUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
