#!/usr/bin/env python3
"""Runs the commands of docs/start/first-hit.md, one after the other in one shell, against the scripted provider: the first
question is a miss, the same in other words a hit.

    clients/first_hit.py [FOLDER]       with the archive of FOLDER (scripts/dist), else with the built binary
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from provider import KEY, Provider
from server import BINARY, free_port

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/start/first-hit.md"
COMMANDS = re.compile(r"^<!-- clients/run: (archive|sh)(?: (hit|miss))? -->\n```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
LIMIT = 300


def check(archive=None):
    """The names of the steps, and the faults."""
    if not archive and not BINARY.exists():
        raise SystemExit(f"clients: {BINARY} is not there: cargo build --workspace --all-features --bins")
    listen, provider, script, names = f"127.0.0.1:{free_port()}", Provider(), ["set -e"], []
    for number, (kind, cache, commands) in enumerate(COMMANDS.findall(PAGE.read_text())):
        if kind == "archive":
            commands = commands if archive else f'export PATH="{BINARY.parent}:$PATH"\n'
        names.append(f"first hit ({number}{', ' + cache if cache else ''})")
        script += [f"echo; echo '#{number} {cache}'", commands.replace("127.0.0.1:8080", listen).replace("sk-...", KEY)]
    environment = {
        "PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1", "DEJA_LISTEN": listen, "DEJA_PRICES_URL": "",
        "DEJA_EMBED_TIMEOUT_MS": "60000", "OPENAI_BASE_URL": f"{provider.url}/v1",
    }
    with tempfile.TemporaryDirectory() as folder, open(pathlib.Path(folder, "log"), "w+") as log:
        for file in pathlib.Path(archive).iterdir() if archive else ():
            pathlib.Path(folder, file.name).symlink_to(file.resolve())
        # A session of its own: the server that it leaves behind ends with it.
        shell = subprocess.Popen(
            ["sh", "-c", "\n".join(script)], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )
        try:
            # The server holds the pipe's end too, so the shell's own end is what counts.
            code = shell.wait(LIMIT)
        except subprocess.TimeoutExpired:
            code = f"no end within {LIMIT} s"
        os.killpg(shell.pid, signal.SIGTERM)
        output = shell.stdout.read()
        log.seek(0)
        faults = [(names[0], f"ended with {code}\n{output}\n{log.read()[-3000:]}")] if code else []
    for step, cache in re.findall(r"^#(\d+) (hit|miss)$", output, re.MULTILINE):
        said = re.search(rf'^#{step} {cache}\n.*?"cache_hit": ?(true|false)', output, re.MULTILINE | re.DOTALL)
        if not said or said[1] != str(cache == "hit").lower():
            faults.append((names[int(step)], f"should be a {cache}\n{output}"))
    calls = len(provider.taken())
    provider.stop()
    if calls != 1 or len(names) < 5:
        faults.append((names[-1], f"{len(names)} steps asked the provider {calls} times"))
    return names, faults


if __name__ == "__main__":
    steps, found = check(*sys.argv[1:])
    for step, fault in found:
        print(f"{step}: {fault}")
    print(f"first hit: {len(steps)} steps, {len(found)} faults")
    sys.exit(1 if found else 0)
