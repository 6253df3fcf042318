"""The built binary with a data directory of its own."""

import contextlib
import os
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

from provider import KEY

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("DEJA_BIN") or pathlib.Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"), "debug/deja"))


def free_port():
    """One that nobody listens on, below the range that outgoing connections take theirs from."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


class Deja:
    """Asks the scripted provider; gone with all its data at the end."""

    def __init__(self, provider):
        self.provider = provider

    def __enter__(self):
        if not BINARY.exists():
            raise SystemExit(f"clients: {BINARY} is not there: cargo build --workspace --all-features --bins")
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="deja-clients-"))
        listen = f"127.0.0.1:{free_port()}"
        self.url = f"http://{listen}"
        self.environment = {
            "PATH": os.environ["PATH"],
            "DEJA_LISTEN": listen,
            "DEJA_DATA_DIR": str(self.data / "data"),
            "DEJA_PRICES_URL": "",
            # On a busy machine an embedding takes long; the answer would then not be stored.
            "DEJA_EMBED_TIMEOUT_MS": "60000",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{self.provider.url}/v1",
            "GEMINI_API_KEY": KEY,
            "GEMINI_BASE_URL": self.provider.url,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": f"{self.provider.url}/v1",
        }
        with open(self.data / "log", "w") as log:
            self.process = subprocess.Popen([BINARY, "serve"], env=self.environment, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not self.ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"clients: the server does not start\n{self.log()}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        code = self.process.wait(60)
        log = self.log()
        shutil.rmtree(self.data, ignore_errors=True)
        if code != 0 or "panicked" in log:
            raise SystemExit(f"clients: the server ended with {code}\n{log}")

    def ready(self):
        try:
            return urllib.request.urlopen(f"{self.url}/readyz").status == 200
        except OSError:
            return False

    def log(self):
        return (self.data / "log").read_text()

    def cli(self, *arguments):
        made = subprocess.run([BINARY, *arguments], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        return made.stdout.split()[-1]

    def project(self, name):
        """A new project: its slug and a key."""
        slug = self.cli("project", "create", name, "--rpm", "100000", "--burst", "100000")
        return slug, self.cli("key", "create", "--project", slug, "--name", "clients")


