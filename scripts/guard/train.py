#!/usr/bin/env python3
"""Trains the guard's trees: train.py OUT.json FEATURES_PROGRAM PAIRS.jsonl...

PAIRS.jsonl: one {a, b, label, cosine, source} a line, as cosines.py writes them, of the training set and of generate.py; rows
under share-alike licences are not in it. FEATURES_PROGRAM is the built example `features` of deja-guard: the features come
from the Rust code alone. Needs lightgbm and numpy; one thread.
"""
import io
import json
import subprocess
import sys

import lightgbm
import numpy

WEIGHTS = {"banking77": 0.5, "hwu": 0.7, "nlupp": 0.7, "deja-generated": 0.35}


def features(program, rows):
    text = "".join(json.dumps({"a": r["a"], "b": r["b"], "cosine": r["cosine"]}) + "\n" for r in rows)
    out = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout
    names, numbers = out.split("\n", 1)
    return names.split(), numpy.loadtxt(io.StringIO(numbers), ndmin=2, dtype=numpy.float32)


def export(model, names, path):
    trees = []
    for tree in model.dump_model()["tree_info"]:
        nodes, leaves = [], []

        def walk(node):
            if "leaf_value" in node:
                leaves.append(round(node["leaf_value"], 5))
                return -len(leaves)
            at = len(nodes)
            nodes.append(None)
            left, right = walk(node["left_child"]), walk(node["right_child"])
            nodes[at] = [node["split_feature"], float("%.9g" % node["threshold"]), left, right]
            return at

        walk(tree["tree_structure"])
        trees.append({"nodes": nodes, "leaves": leaves})
    with open(path, "w") as file:
        json.dump({"features": names, "trees": trees}, file, separators=(",", ":"))
        file.write("\n")


def main():
    out, program, *files = sys.argv[1:]
    rows = [json.loads(line) for file in files for line in open(file)]
    rows = [r for r in rows if r["cosine"] is not None and r["cosine"] >= 0.6]
    names, x = features(program, rows)
    y = [r["label"] for r in rows]
    weight = [WEIGHTS.get(r["source"], 1.0) * (1.0 if r["cosine"] >= 0.75 else 0.4) for r in rows]
    settings = dict(objective="binary", learning_rate=0.07, num_leaves=12, min_data_in_leaf=60, feature_fraction=0.5, bagging_fraction=0.7,
                    bagging_freq=1, lambda_l2=5, verbose=-1, num_threads=1, seed=1, deterministic=True)
    model = lightgbm.train(settings, lightgbm.Dataset(x, y, weight=weight, feature_name=names), 220)
    export(model, names, out)
    gain = sorted(zip(model.feature_importance("gain"), names), reverse=True)
    print(len(rows), "pairs;", ", ".join(f"{name} {value:.0f}" for value, name in gain[:25]))


if __name__ == "__main__":
    main()
