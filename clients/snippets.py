"""Runs every snippet of docs/start/clients.md twice, as it stands there: the second time its answer is a hit."""

import os
import pathlib
import re
import subprocess

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "start" / "clients.md"
SNIPPET = re.compile(r"^## (.+?)$|^<!-- clients/run: (\w+) -->\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8080"


def found():
    """Name, place and text of each."""
    name, number = "", 0
    for heading, place, text in SNIPPET.findall(PAGE.read_text()):
        if heading:
            name, number = heading, 0
        else:
            number += 1
            yield f"{name} ({number})", place, text


def check(home, deja, provider):
    """The names of all, and the faults."""
    _, key = deja.project("snippets")
    names, faults = [], []
    for name, place, text in found():
        names.append(name)
        if ADDRESS not in text:
            faults.append((name, f"{ADDRESS} does not stand in it"))
        outputs = []
        for cache, asked in (("miss", 1), ("hit", 0)):
            provider.taken()
            code, output = run(home, place, text.replace(ADDRESS, deja.url), key)
            calls = len(provider.taken())
            said = re.match(r"(hit|miss|joined|bypass|refresh)\b", output)
            if code != 0 or calls != asked or said and said[1] != cache:
                faults.append((name, f"should be a {cache}: ended with {code}, asked the provider {calls} times\n{output[-2000:]}"))
            outputs.append(output.removeprefix(cache))
        if len(set(outputs)) != 1 or "Without a tool" not in outputs[0]:
            faults.append((name, f"the answers differ: {outputs}"))
    return names, faults


def run(home, place, text, key):
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1"}
    environment |= {"DEJA_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    # As its standard input; Node.js looks for packages from the folder on.
    if place == "node":
        command, folder = ["node", "--input-type=module", "-"], pathlib.Path(__file__).resolve().parent / "node"
    else:
        command, folder = [f"{home}/{place}/bin/python", "-"], None
    done = subprocess.run(command, input=text, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")
