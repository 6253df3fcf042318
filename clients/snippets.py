"""Runs every snippet of README.md and of docs/start/clients.md twice: the second time its answer is a hit. Those that the console shows are
copied from there, and so are those of deja's own API. The others are as they stand on the page."""

import os
import pathlib
import re
import subprocess
import sys

import console

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
PAGES = [REPOSITORY / "README.md", REPOSITORY / "docs/start/clients.md"]
SNIPPET = re.compile(r"^## (.+?)$|^<!-- clients/run: (\w+) -->\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8080"


# Of deja's own API: title in the console, and what runs it.
OWN = {"deja’s own API, curl": "sh", "deja’s own API, Python without any package": "bare"}


def found(overview):
    """Name, place and text of each."""
    heading, number, shown = "", 0, dict(overview.snippets)
    for title, place, text in (snippet for page in PAGES for snippet in SNIPPET.findall(page.read_text())):
        if title:
            heading, number = title, 0
        else:
            number += 1
            yield f"{heading} ({number})", place, shown.pop(heading, None) or text
    for title, place in OWN.items():
        yield title, place, shown.pop(title)
    if shown:
        raise SystemExit(f"clients: {', '.join(shown)}: the console shows what is not documented")


def check(home, deja, provider):
    """The names of all, and the faults."""
    overview = console.overview(deja, "snippets")
    key = console.key(overview)
    names, faults = [], []
    for name, place, text in found(overview):
        names.append(name)
        if ADDRESS not in text and f"{deja.url}/p/snippets" not in text:
            faults.append((name, f"{ADDRESS} does not stand in it"))
        outputs = []
        for cache, asked in (("miss", 1), ("hit", 0)):
            provider.taken()
            code, output = run(home, place, text.replace(ADDRESS, deja.url), key)
            calls = len(provider.taken())
            said = told(output)
            if code != 0 or calls != asked or said and said != cache:
                faults.append((name, f"should be a {cache}: ended with {code}, asked the provider {calls} times\n{output[-2000:]}"))
            outputs.append(output.removeprefix(cache))
        if "Without a tool" not in outputs[0] or name not in OWN and len(set(outputs)) != 1:
            faults.append((name, f"the answers differ: {outputs}"))
    return names, faults


def told(output):
    """What an output says of the cache, if it does."""
    said = re.match(r"(hit|miss|joined|bypass|refresh)\b", output) or re.search(r'"cache_hit": ?(true|false)| (True|False) ', output)
    word = said and next(filter(None, said.groups())).lower()
    return {"true": "hit", "false": "miss"}.get(word, word)


def run(home, place, text, key):
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1"}
    environment |= {"DEJA_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    # As its standard input; Node.js looks for packages from the folder on.
    if place == "node":
        command, folder = ["node", "--input-type=module", "-"], pathlib.Path(__file__).resolve().parent / "node"
    elif place in OWN.values():
        command, folder = {"sh": ["sh", "-s"], "bare": [sys.executable, "-"]}[place], None
    else:
        command, folder = [f"{home}/{place}/bin/python", "-"], None
    done = subprocess.run(command, input=text, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")
