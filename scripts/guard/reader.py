#!/usr/bin/env python3
"""Trains the reader of pairs: reader.py OUT_DIRECTORY ROWS PAIRS.jsonl.gz OWN.jsonl...

PAIRS: lines of {text_a, text_b, label, source, licence}; rows under share-alike licences are left out, and ROWS of the others are
drawn. OWN: sets of crates/deja-guard/data; each of their pairs is taken four times. Texts of the sets there that are not named are
trained on nowhere. Then

    cargo run --release -p deja-embed --example quantise -- OUT_DIRECTORY pair-reader/int8-1 OUT.bin --reader

makes crates/deja-embed/data/pair-reader.int8.bin. The start is the built-in model, whose word, position and segment vectors and first
layer stay as they are. Needs jax, numpy, optax, safetensors and tokenizers; twenty minutes on two cores. Two machines do not give the
same weights.
"""
import collections
import gzip
import json
import pathlib
import random
import shutil
import sys

import jax
import jax.numpy as jnp
import numpy
import optax
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import model as published  # noqa: E402

DATA = ROOT / "crates" / "deja-guard" / "data"
# The grammar and some sets are so large that nothing else would be learnt.
MOST = {"deja-grammar": 14000, "deja-grammar+edit": 5000, "advising": 4000, "advising+edit": 3000, "banking77+edit": 10000}
LENGTHS = [18, 24, 32, 40, 56, 80]
BATCH, RATE, LAYERS, HEADS, WIDTH = 32, 1e-4, 6, 12, 384


def key(text):
    return "".join(c for c in text.lower() if c.isalnum())


def lines(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def training_pairs(count, pairs, own):
    held = set()
    for path in DATA.glob("*.jsonl"):
        if path.stem != "golden" and path.resolve() not in own:
            held.update(key(row[side]) for row in lines(path) for side in ("a", "b"))
    free = lambda a, b: key(a) not in held and key(b) not in held
    rows, seen = lines(pairs), collections.Counter()
    random.shuffle(rows)
    kept = []
    for row in rows:
        a, b, source = row["text_a"], row["text_b"], row["source"]
        if "SA" in row["licence"] or source == "templates_dev" or len(a) + len(b) >= 190:
            continue
        seen[source] += 1
        if seen[source] <= MOST.get(source, len(rows)) and free(a, b):
            kept.append((a, b, row["label"]))
    ours = [(row["a"], row["b"], row["label"]) for path in own for row in lines(path)]
    ours = [pair for pair in ours if len(pair[0]) + len(pair[1]) < 400 and free(*pair[:2])]
    print(len(kept), "rows,", len(ours), "own pairs", flush=True)
    return kept[:count] + 4 * ours


def batches(pairs, tokenizer):
    """Pairs of about one length, in random order: ids, mask and labels of each batch."""
    groups = collections.defaultdict(list)
    for a, b, label in pairs:
        if random.random() < 0.5:
            a, b = b, a
        ids = tokenizer.encode(a).ids[:40] + tokenizer.encode(b).ids[1:41]
        groups[next(length for length in LENGTHS if len(ids) <= length)].append((ids, label))
    made = []
    for length, group in groups.items():
        random.shuffle(group)
        for start in range(0, len(group) - BATCH + 1, BATCH):
            ids, mask = numpy.zeros((BATCH, length), numpy.int32), numpy.zeros((BATCH, length), numpy.float32)
            for at, (tokens, _) in enumerate(group[start : start + BATCH]):
                ids[at, : len(tokens)], mask[at, : len(tokens)] = tokens, 1
            made.append((ids, mask, numpy.array([label for _, label in group[start : start + BATCH]], numpy.float32)))
    random.shuffle(made)
    return made


def logits(weights, ids, mask, noise):
    """The forward pass of BERT, with the mean of the token vectors and a linear layer behind it."""

    def norm(x, name):
        mean = x.mean(-1, keepdims=True)
        deviation = jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-12)
        return (x - mean) / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def dropout(x, place):
        kept = jax.random.bernoulli(jax.random.fold_in(noise, place), 0.9, x.shape)
        return jnp.where(kept, x / 0.9, 0)

    table = lambda name: weights[f"embeddings.{name}_embeddings.weight"]
    x = table("word")[ids] + table("position")[: ids.shape[1]] + table("token_type")[0]
    x = norm(x, "embeddings.LayerNorm")
    count, length, _ = x.shape
    hidden = (1 - mask)[:, None, None, :] * -1e9
    for index in range(LAYERS):
        layer = f"encoder.layer.{index}."
        split = lambda name: linear(x, f"{layer}attention.self.{name}").reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)
        query, keys, values = split("query"), split("key"), split("value")
        share = jax.nn.softmax(query @ keys.transpose(0, 1, 3, 2) / (WIDTH / HEADS) ** 0.5 + hidden)
        context = (share @ values).transpose(0, 2, 1, 3).reshape(count, length, WIDTH)
        context = dropout(linear(context, f"{layer}attention.output.dense"), 2 * index)
        x = norm(x + context, f"{layer}attention.output.LayerNorm")
        wide = jax.nn.gelu(linear(x, f"{layer}intermediate.dense"), approximate=False)
        x = norm(x + dropout(linear(wide, f"{layer}output.dense"), 2 * index + 1), f"{layer}output.LayerNorm")
        if index == 0:
            x = jax.lax.stop_gradient(x)
    mean = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
    return linear(mean, "head")[:, 0]


def main():
    out, count, pairs = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    random.seed(7)
    numpy.random.seed(7)
    directory = published.fetch(ROOT / "target" / "model")
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    chosen = training_pairs(count, pairs, [pathlib.Path(path).resolve() for path in sys.argv[4:]])
    random.shuffle(chosen)
    steps = batches(chosen, tokenizer)
    base = {name.removeprefix("bert."): value for name, value in load_file(directory / "model.safetensors").items()}
    base = {name: value for name, value in base.items() if value.dtype == numpy.float32 and "pooler" not in name}
    base["head.weight"] = numpy.random.randn(1, WIDTH).astype(numpy.float32) * 0.02
    base["head.bias"] = numpy.zeros(1, numpy.float32)
    still = {name: jnp.array(value) for name, value in base.items() if name.startswith(("embeddings.", "encoder.layer.0."))}
    weights = {name: jnp.array(value) for name, value in base.items() if name not in still}

    warm = int(len(steps) * 0.06)
    rise, fall = optax.linear_schedule(0, RATE, warm), optax.linear_schedule(RATE, RATE * 0.02, len(steps) - warm)
    decays = {name: "bias" not in name and "LayerNorm" not in name for name in weights}
    rate = optax.join_schedules([rise, fall], [warm])
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.01, mask=decays))
    state = optimiser.init(weights)

    def loss(weights, ids, mask, labels, noise):
        # One row of twelve has a wrong label, so that no row is certain.
        wanted = labels * 0.94 + 0.03
        return optax.sigmoid_binary_cross_entropy(logits({**still, **weights}, ids, mask, noise), wanted).mean()

    @jax.jit
    def step(weights, state, ids, mask, labels, noise):
        value, slope = jax.value_and_grad(loss)(weights, ids, mask, labels, noise)
        change, state = optimiser.update(slope, state, weights)
        return optax.apply_updates(weights, change), state, value

    noise, losses = jax.random.PRNGKey(7), []
    for number, (ids, mask, labels) in enumerate(steps, 1):
        weights, state, value = step(weights, state, ids, mask, labels, jax.random.fold_in(noise, number - 1))
        losses.append(float(value))
        if number % 100 == 0 or number == len(steps):
            print(f"{number} of {len(steps)} steps, loss {numpy.mean(losses):.4f}", flush=True)
            losses = []
    shutil.copytree(directory, out, dirs_exist_ok=True)
    save_file({name: numpy.asarray(value) for name, value in {**still, **weights}.items()}, out / "model.safetensors")


if __name__ == "__main__":
    main()
