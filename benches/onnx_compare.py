#!/usr/bin/env python3
"""Compares deja's encoder with ONNX Runtime: latency (default) or accuracy.

    python3 benches/onnx_compare.py                     # one thread, 8 to 256 tokens, ours / ONNX int8
    python3 benches/onnx_compare.py --accuracy FILE...  # *.jsonl.gz with texts in "text", "a" or "b"
    python3 benches/onnx_compare.py --golden            # rewrites the reference vectors of tests/it/golden.rs

Makes its own environment in target/bench-venv. The weights come from the package scripts/model.py fetches.
The ONNX graph is exported here by hand; it and a plain numpy forward pass are checked against each other, so
the f32 reference does not rest on either alone.
"""

import argparse
import gzip
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
CRATE = ROOT / "crates" / "deja-embed"
GOLDEN = CRATE / "tests" / "it" / "data"
LENGTHS = (8, 16, 32, 64, 128, 256)
NEEDS = ["numpy", "onnx", "onnxruntime", "tokenizers", "safetensors"]


def enter_venv():
    """Runs this script again inside the environment unless it is there already."""
    home = TARGET / "bench-venv"
    if pathlib.Path(sys.prefix).resolve() == home.resolve():
        return
    if not (home / "ready").exists():
        venv.create(home, with_pip=True)
        subprocess.run([home / "bin/pip", "install", "-q", *NEEDS], check=True)
        (home / "ready").touch()
    os.execv(home / "bin/python", [str(home / "bin/python"), *sys.argv])


def model_directory():
    """The unpacked package: config, weights, tokenizer."""
    spec = importlib.util.spec_from_file_location("model", ROOT / "scripts" / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.fetch(TARGET / "model")


def names(layer):
    """The six linear layers of an encoder layer."""
    at = f"encoder.layer.{layer}."
    return [at + n for n in ("attention.self.query", "attention.self.key", "attention.self.value",
                             "attention.output.dense", "intermediate.dense", "output.dense")]


def export(weights, config, path):
    """BERT with masked mean pooling as an ONNX graph; inputs `ids` [1, n] int64, output `vector` [hidden]."""
    import numpy as np
    from onnx import TensorProto, checker, helper, numpy_helper, save

    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    nodes, inits = [], []

    def const(name, value):
        inits.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def op(kind, *inputs, **attributes):
        out = f"t{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [out], name=f"n{len(nodes)}", **attributes))
        return out

    f32 = lambda v: np.array(v, np.float32)
    i64 = lambda v: np.array(v, np.int64)

    def norm(x, name):
        return op("LayerNormalization", x, const(name + ".g", weights[name + ".weight"]),
                  const(name + ".b", weights[name + ".bias"]), axis=-1, epsilon=config["layer_norm_eps"])

    def linear(x, name):
        product = op("MatMul", x, const(name + ".w", weights[name + ".weight"].T))
        return op("Add", product, const(name + ".bias", weights[name + ".bias"]))

    words = op("Gather", const("words", weights["embeddings.word_embeddings.weight"]), "ids")
    length = op("Shape", "ids", start=1, end=2)
    table = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    positions = op("Slice", const("positions", table), const("zero", i64([0])), length, const("axis", i64([0])))
    x = norm(op("Add", words, positions), "embeddings.LayerNorm")
    split = const("split", i64([0, 0, heads, hidden // heads]))
    join = const("join", i64([0, 0, hidden]))
    factor = const("factor", f32((hidden // heads) ** -0.5))
    half, one, root = const("half", f32(0.5)), const("one", f32(1)), const("root", f32(2 ** -0.5))
    for layer in range(config["num_hidden_layers"]):
        query, key, value, dense, up, down = names(layer)
        part = lambda name, perm: op("Transpose", op("Reshape", linear(x, name), split), perm=perm)
        scores = op("MatMul", part(query, [0, 2, 1, 3]), part(key, [0, 2, 3, 1]))
        shares = op("Softmax", op("Mul", scores, factor), axis=-1)
        mixed = op("Transpose", op("MatMul", shares, part(value, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        context = linear(op("Reshape", mixed, join), dense)
        x = norm(op("Add", context, x), f"encoder.layer.{layer}.attention.output.LayerNorm")
        wide = linear(x, up)
        gate = op("Add", op("Erf", op("Mul", wide, root)), one)
        wide = op("Mul", op("Mul", wide, gate), half)
        x = norm(op("Add", linear(wide, down), x), f"encoder.layer.{layer}.output.LayerNorm")
    mean = op("ReduceMean", x, const("axes", i64([0, 1])), keepdims=0)
    nodes[-1].output[0] = "vector"
    graph = helper.make_graph(nodes, "bert", [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "n"])],
                              [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [hidden])], inits)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    checker.check_model(model)
    save(model, str(path))


def numpy_vector(weights, config, ids):
    """The same forward pass in numpy, in f32."""
    import math
    import numpy as np
    erf = np.vectorize(math.erf, otypes=[np.float32])
    heads = config["num_attention_heads"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + config["layer_norm_eps"])
        return x * weights[name + ".weight"] + weights[name + ".bias"]

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    x = (weights["embeddings.word_embeddings.weight"][ids]
         + weights["embeddings.position_embeddings.weight"][:len(ids)]
         + weights["embeddings.token_type_embeddings.weight"][0])
    x = norm(x, "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        query, key, value, dense, up, down = names(layer)
        q, k, v = (linear(x, n).reshape(len(ids), heads, -1).transpose(1, 0, 2) for n in (query, key, value))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(np.float32(q.shape[-1]))
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        x = norm(linear((scores @ v).transpose(1, 0, 2).reshape(len(ids), -1), dense) + x,
                 f"encoder.layer.{layer}.attention.output.LayerNorm")
        wide = linear(x, up)
        wide = wide * 0.5 * (1 + erf(wide / math.sqrt(2)))
        x = norm(linear(wide, down) + x, f"encoder.layer.{layer}.output.LayerNorm")
    return x.mean(0)


def session(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def unit(v):
    import numpy as np
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


class Reference:
    """ONNX Runtime f32, checked against numpy."""

    def __init__(self):
        import numpy as np
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
        self.directory = model_directory()
        self.config = json.loads((self.directory / "config.json").read_text())
        self.weights = load_file(self.directory / "model.safetensors")
        self.f32, self.int8 = TARGET / "minilm.f32.onnx", TARGET / "minilm.int8.onnx"
        export(self.weights, self.config, self.f32)
        self.session = session(self.f32)
        self.tokenizer = Tokenizer.from_file(str(self.directory / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        for text in ("How do I reset my password?", "semantic cache " * 60):
            ids = self.ids(text)
            gap = np.abs(unit(numpy_vector(self.weights, self.config, ids)) - self.vector(ids)).max()
            assert gap < 1e-5, f"numpy and ONNX Runtime differ by {gap}"

    def ids(self, text):
        return self.tokenizer.encode(text).ids

    def vector(self, ids):
        import numpy as np
        return unit(self.session.run(None, {"ids": np.array([ids], np.int64)})[0])


def quantise(reference):
    """ONNX Runtime's own dynamic quantisation: int8 weights per channel."""
    import logging
    from onnxruntime.quantization import QuantType, quantize_dynamic
    logging.disable(logging.WARNING)
    quantize_dynamic(str(reference.f32), str(reference.int8), per_channel=True, weight_type=QuantType.QInt8,
                     op_types_to_quantize=["MatMul", "Gather"])
    return session(reference.int8)


def median_ms(run):
    for _ in range(20):
        run()
    times, start = [], time.perf_counter()
    while len(times) < 50 or (time.perf_counter() - start < 1 and len(times) < 2000):
        once = time.perf_counter()
        run()
        times.append(time.perf_counter() - once)
    return sorted(times)[len(times) // 2] * 1e3


def example(*arguments, **options):
    command = ["cargo", "run", "-q", "--release", "-p", "deja-embed", "--example", "latency", "--", *arguments]
    run = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, **options)
    return run.stdout


def latency():
    import numpy as np
    reference = Reference()
    int8 = quantise(reference)
    ours = json.loads(example())
    print(f"kernel {ours['kernel']}, load {ours['load_ms']:.1f} ms, tokenizer {ours['tokenize_us']:.1f} us per prompt")
    print(f"batch of 32 x 16 tokens: {ours['batch_32x16_per_text_ms']:.3f} ms per prompt")
    print("| tokens | deja | ONNX Runtime int8 | ONNX Runtime f32 | deja / ONNX int8 |\n|---|---|---|---|---|")
    for n in LENGTHS:
        ids = {"ids": np.array([[2000 + i * 37 for i in range(n)]], np.int64)}
        mine, q, f = ours["tokens"][str(n)], *(median_ms(lambda: s.run(None, ids)) for s in (int8, reference.session))
        print(f"| {n} | {mine:.2f} ms | {q:.2f} ms | {f:.2f} ms | {mine / q:.2f} |")


def ours(texts):
    lines = example("vectors", input="".join(json.dumps(t) + "\n" for t in texts)).splitlines()
    return [json.loads(line) for line in lines]


def accuracy(files):
    import numpy as np
    reference = Reference()
    texts = []
    for file in files:
        with gzip.open(file, "rt") as lines:
            for line in lines:
                row = json.loads(line)
                texts += [row[k] for k in ("text", "a", "b") if isinstance(row.get(k), str)]
    texts = sorted(set(texts))
    texts = [texts[i] for i in np.random.default_rng(1).permutation(len(texts))[:2000]]
    want = np.array([reference.vector(reference.ids(t)) for t in texts])
    report("deja", np.array(ours(texts)), want)
    int8 = quantise(reference)
    report("ONNX Runtime int8", np.array([unit(int8.run(None, {"ids": np.array([reference.ids(t)], np.int64)})[0])
                                         for t in texts]), want)


def report(name, have, want):
    import numpy as np
    cosine = (have * want).sum(1)
    pairs = np.triu_indices(len(want), 1)
    gap = np.abs((have @ have.T)[pairs] - (want @ want.T)[pairs])
    print(f"{name}: {len(want)} texts, cosine min {cosine.min():.5f} mean {cosine.mean():.5f}; {len(gap)} pairs, "
          f"similarity gap max {gap.max():.4f} p99.9 {np.quantile(gap, .999):.4f} mean {gap.mean():.4f}")
    near = (want @ want.T)[pairs] >= 0.7
    print(f"    of these {near.sum()} with similarity >= 0.7: gap max {gap[near].max():.4f}")


def golden():
    import numpy as np
    reference = Reference()
    texts = json.loads((GOLDEN / "golden.json").read_text())
    vectors = np.array([reference.vector(reference.ids(t)) for t in texts], "<f4")
    vectors.tofile(GOLDEN / "golden.f32")
    (GOLDEN / "golden.ids.json").write_text(json.dumps([reference.ids(t) for t in texts], separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accuracy", nargs="+", metavar="FILE")
    parser.add_argument("--golden", action="store_true")
    arguments = parser.parse_args()
    enter_venv()
    if arguments.golden:
        golden()
    elif arguments.accuracy:
        accuracy(arguments.accuracy)
    else:
        latency()


if __name__ == "__main__":
    main()
