#!/usr/bin/env python3
"""Adds the cosine of the built-in embedder to pairs: cosines.py PAIRS.jsonl[.gz] VECTORS_PROGRAM OUT.jsonl [N [FROM]]

A line of PAIRS has {a, b, label} or {text_a, text_b, label, source, licence}; rows under share-alike licences are left out.
VECTORS_PROGRAM is the built example `latency` of deja-embed. With N, rows FROM to FROM + N of a fixed shuffle are taken; the
trees in crates/deja-guard/data were trained on the first 75,000 and on what generate.py writes.
"""
import gzip
import json
import random
import subprocess
import sys
import tempfile

import numpy


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if "SA" in row.get("licence", ""):
                continue
            if "text_a" in row:
                row = {"a": row["text_a"], "b": row["text_b"], "label": row["label"], "source": row["source"], "kind": row["kind"]}
            if "cat" in row:
                row["kind"] = row.pop("cat")
            yield row


def main():
    path, program, out = sys.argv[1:4]
    rows = list(read(path))
    if len(sys.argv) > 4:
        random.Random(5).shuffle(rows)
        begin = int(sys.argv[5]) if len(sys.argv) > 5 else 0
        rows = rows[begin : begin + int(sys.argv[4])]
    texts = sorted({text for row in rows for text in (row["a"], row["b"])})
    place = {text: i for i, text in enumerate(texts)}
    vectors = numpy.full((len(texts), 384), numpy.nan, numpy.float32)
    with tempfile.TemporaryFile("w+") as asked:
        asked.writelines(json.dumps(text) + "\n" for text in texts)
        asked.seek(0)
        run = subprocess.Popen([program, "vectors"], stdin=asked, stdout=subprocess.PIPE, text=True)
        for i, line in enumerate(run.stdout):
            vector = json.loads(line)
            if vector:
                vectors[i] = vector
        if run.wait():
            sys.exit(f"{program} failed")
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    with open(out, "w", encoding="utf-8") as file:
        for row in rows:
            cosine = float(vectors[place[row["a"]]] @ vectors[place[row["b"]]])
            row["cosine"] = None if numpy.isnan(cosine) else round(cosine, 5)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
