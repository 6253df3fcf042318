#!/usr/bin/env python3
"""Makes crates/deja-core/data/prices.json, the price table that is compiled into deja.

Input is the price map of LiteLLM and a file of later entries in the same shape, which win. Kept are models
that are billed by the token and have a price for input and for output, and of them only what
deja-core/src/pricing reads. The output is the same for the same input, one model a line, so that a new
snapshot gives a readable diff.

    scripts/prices.py [DATA_DIRECTORY]        (default: ../shared/data beside the checkout)
"""

import gzip
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "crates" / "deja-core" / "data" / "prices.json"
MODES = {"chat", "responses", "completion"}
NO_MODELS = {"sample_spec", "fallback_generalizations"}
PRICE = re.compile(r"^(input|output)_cost_per_token(_above_\d+k_tokens)?$")
HEADER = {
    "source": "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json",
    "revision": "2026-07-24, with later prices of 2026-11-21",
    "licence": "MIT, (c) 2023 Berri AI; reduced and extended by scripts/prices.py",
}


def reduced(entry):
    kept = {name: value for name, value in entry.items() if PRICE.match(name) and value is not None}
    if not {"input_cost_per_token", "output_cost_per_token"} <= kept.keys():
        return None
    kept["litellm_provider"] = entry.get("litellm_provider", "")
    kept["mode"] = entry["mode"]
    return kept


def main():
    data = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data"
    with gzip.open(data / "model_prices_and_context_window.json.gz", "rt", encoding="utf-8") as file:
        models = json.load(file)
    models.update(json.loads((data / "model_prices_after_snapshot.json").read_text("utf-8")))
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
