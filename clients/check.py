#!/usr/bin/env python3
"""Runs each client's script directly against the scripted provider, then through deja: cold, warm, and swapped.

Swapped is warm with streams where plain answers were stored, and the reverse. What the client library makes of the
answers must be equal in all four. The provider must see the cold bodies as the client sent them, byte for byte,
and on the later runs only what may not be kept.

Clients run beside each other, as many as there are cores, each with a provider and a server of its own.
"""

import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

from provider import KEY, Provider
from server import Deja
import first_hit
import snippets

HERE = pathlib.Path(__file__).resolve().parent
RUNS = ("direct", "cold", "warm", "swapped")
# Seconds for one run of one client; the slowest takes a minute on a busy machine.
LIMIT = 600
# Name: where it runs, its script. `node` is Node.js, the others are the environments of clients/run.
CLIENTS = {
    "openai-3": ("newest", "openai_client.py"),
    "openai-2": ("older", "openai_client.py"),
    "openai-node": ("node", "openai.js"),
    "anthropic": ("newest", "anthropic_client.py"),
    "anthropic-node": ("node", "anthropic.js"),
    "ai-sdk": ("node", "ai-sdk.js"),
    "litellm": ("older", "litellm_client.py"),
    "llamaindex": ("older", "llamaindex_client.py"),
    "google-3": ("newest", "google_client.py"),
    "google-2": ("older", "google_client.py"),
    "langchain-openai": ("newest", "langchain_openai_suite.py"),
    "langchain-anthropic": ("newest", "langchain_anthropic_suite.py"),
}
# What is new in every answer from the cache.
FRESH = ("id", "created")
# All that may go to the provider, beside its own key.
SENT_ON = {
    "host", "content-type", "content-length", "accept", "accept-encoding", "user-agent", "anthropic-version",
    "anthropic-beta", "openai-beta", "idempotency-key", "traceparent", "tracestate", "authorization", "x-api-key",
    "x-goog-api-key",
}
# LangChain's tests make names of calls up anew on each run.
UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Headers that choose the shape of an answer: the provider must see them as the client sent them.
SHAPING = ("content-type", "anthropic-version", "anthropic-beta", "openai-beta")


@dataclasses.dataclass
class Seen:
    """What one run of one client brought: by case, the outcome and the calls that reached the provider."""

    cases: dict = dataclasses.field(default_factory=dict)
    calls: dict = dataclasses.field(default_factory=dict)
    fault: str = ""


def main(home, *chosen):
    all_parts = [*CLIENTS, "snippets", "first-hit"]
    unknown = set(chosen) - set(all_parts)
    if unknown:
        raise SystemExit(f"clients: no client {', '.join(unknown)}; there are {', '.join(all_parts)}")
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(alone, home, name) for name in chosen or all_parts]
        for done in concurrent.futures.as_completed(running):
            name, cases, faults, seconds = done.result()
            faulty = len({case for case, _ in faults})
            passed, failed = passed + max(0, len(cases) - faulty), failed + faulty
            print(f"{name}: {len(cases)} cases, {len(faults)} faults, {seconds:.0f} s", flush=True)
            for case, fault in faults:
                print(f"  {case}: {fault}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def alone(home, name):
    """The cases and the faults of a client, and how long it took."""
    started = time.monotonic()
    if name == "first-hit":
        return name, *first_hit.check(), time.monotonic() - started
    provider = Provider()
    with Deja(provider) as deja:
        cases, faults = snippets.check(home, deja, provider) if name == "snippets" else check(home, deja, provider, name)
    provider.stop()
    return name, cases, faults, time.monotonic() - started


def check(home, deja, provider, name):
    """A client's cases, and the faults."""
    slug, key = deja.project(name)
    ends = {run: (f"{deja.url}/p/{slug}", key) for run in RUNS} | {"direct": (provider.url, KEY)}
    seen = {run: watch(home, name, run, *ends[run], provider) for run in RUNS}
    return list(seen["direct"].cases), judge(seen, key)


def watch(home, name, run, url, key, provider):
    """Runs a client's script. It waits after each case until the calls that belong to it are taken."""
    place, script = CLIENTS[name]
    environment = {
        "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "NO_PROXY": "127.0.0.1", "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1", "CLIENT_URL": url, "CLIENT_KEY": key, "CLIENT_RUN": run,
    }
    if script.endswith("_suite.py"):
        return suite(home, script, environment, provider)
    command = ["node", HERE / "node" / script] if place == "node" else [f"{home}/{place}/bin/python", HERE / "python" / script]
    seen = Seen()
    provider.taken()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        # The faulthandler of Python then writes where the script hangs.
        limit = threading.Timer(LIMIT, process.send_signal, [signal.SIGABRT])
        limit.start()
        for line in process.stdout:
            if not line.startswith('{"case"'):
                continue
            told = json.loads(line)
            seen.cases[told.pop("case")] = told
            seen.calls[list(seen.cases)[-1]] = provider.taken()
            process.stdin.write("\n")
            process.stdin.flush()
        code = process.wait()
        limit.cancel()
        errors.seek(0)
        late = f", for it hung for {LIMIT} s" if code == -signal.SIGABRT else ""
        seen.fault = f"the script ended with {code}{late}\n{errors.read()[-3000:]}" if code else ""
    return seen


def suite(home, script, environment, provider):
    """Runs langchain-tests: a case is a test, but the calls belong to all of them together."""
    provider.taken()
    with tempfile.TemporaryDirectory() as folder:
        # -p no:cacheprovider: nothing is written beside the sources.
        command = [f"{home}/newest/bin/python", "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"]
        # LangChain keeps one client for all tests, which is bound to its event loop.
        command += ["-o", "asyncio_default_test_loop_scope=session"]
        command += [f"--junit-xml={folder}/report.xml", f"--rootdir={HERE}/python", str(HERE / "python" / script)]
        command += ["-o", f"faulthandler_timeout={LIMIT}", "-o", "faulthandler_exit_on_timeout=true"]
        done = subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        report = pathlib.Path(folder, "report.xml")
        tests = xml.etree.ElementTree.parse(report).iter("testcase") if report.exists() else ()
        seen = Seen()
        for test in tests:
            ends = [child.tag for child in test if child.tag in ("failure", "error", "skipped")]
            seen.cases[f"{test.get('classname').rpartition('.')[2]}.{test.get('name')}"] = {"outcome": ends or ["passed"]}
    # No test of the provided suite may fail, on any run.
    seen.fault = done.stdout[-6000:] if done.returncode else ""
    seen.calls = {"all together": provider.taken()}
    return seen


def judge(seen, key):
    """The faults, each with its case."""
    faults = [(f"({run})", one.fault) for run, one in seen.items() if one.fault]
    direct = seen["direct"]
    if not direct.cases:
        faults.append(("(direct)", "there was no case"))
    faults += [
        (case, f"{run}: a stream was cut, and the client heard of no error: {told}")
        for run, one in seen.items() for case, told in one.cases.items() if "cut after" in case and not is_error(told["outcome"])
    ]
    kept = set()
    for run in RUNS[1:]:
        told = seen[run]
        faults += [(case, f"{run}: not run") for case in direct.cases if case not in told.cases]
        for case in direct.cases.keys() & told.cases.keys():
            # The library itself makes other things of a stream that ends otherwise than of a plain answer.
            if run == "swapped" and not all(call.kept for call in direct.calls.get(case, [])):
                continue
            faults += [(case, f"{run}: {fault}") for fault in compare(run, direct.cases[case], told.cases[case])]
        for case, calls in direct.calls.items():
            expected = []
            for call in calls:
                if call.same not in kept:
                    expected.append(call)
                    kept |= {call.same} if call.kept else set()
            if run == "swapped" and not all(call.kept for call in calls):
                continue
            arrived = told.calls.get(case, [])
            if run != "cold" and not arrived and any(call.kept for call in calls):
                faults += [(case, f"{run}: {fault}") for fault in fresh(direct.cases[case], told.cases.get(case))]
            faults += [(case, f"{run}: {fault}") for fault in forwarded(run, expected, arrived, key)]
    return faults


def is_error(outcome):
    return outcome == "broken" or isinstance(outcome, dict) and (outcome.get("error") or outcome)["broken"]


def fresh(direct, told):
    """An answer from the cache has an id of its own, but what OpenAI keeps itself: an application may go on from there."""
    one, other = ((told or {}).get("outcome") for told in (direct, told))
    if isinstance(one, dict) and isinstance(other, dict) and "id" in one and "id" in other:
        if (one["id"] == other["id"]) != bool(one.get("store")):
            yield f"the id is {other['id']}, the provider's is {one['id']}"


def compare(run, direct, told):
    if "headers" in told:
        yield from headers(run, told["headers"])
        return
    one, other = (direct, told) if run == "cold" else (stable(direct), stable(told))
    if one != other:
        yield f"not as directly\n    direct: {json.dumps(one, ensure_ascii=False)}\n    {run}: {json.dumps(other, ensure_ascii=False)}"


def stable(told):
    """An outcome without what is new in every answer from the cache."""
    if isinstance(told, dict):
        return {name: stable(value) for name, value in told.items() if name not in FRESH}
    return [stable(value) for value in told] if isinstance(told, list) else told


def headers(run, told):
    said = "miss" if run == "cold" else "hit"
    if told.get("x-deja-cache") != said:
        yield f"x-deja-cache is {told.get('x-deja-cache')}, not {said}"
    if told.get("x-request-id", "req_provider") == "req_provider" or told.get("request-id") == "req_provider":
        yield "x-request-id is not deja's"
    leaked = [name for name in told if name in ("set-cookie", "openai-organization", "x-ratelimit-remaining-requests")]
    if leaked:
        yield f"the provider's {', '.join(leaked)} reached the client"


def forwarded(run, expected, arrived, key):
    """What reached the provider, beside what should have: the bodies byte for byte, in any order."""
    # Swapped runs ask the other way, so their bodies differ in `stream`.
    identity = (lambda call: call.same) if run == "swapped" else (lambda call: (call.path, UUID.sub(b"UUID", call.body)))
    wanted, came = (collections.Counter(map(identity, calls)) for calls in (expected, arrived))
    for what, some in (("did not reach the provider", wanted - came), ("reached the provider", came - wanted)):
        for call, count in some.items():
            yield f"{what} ({count}x): {' '.join(map(str, call))[:600]}"
    for call in arrived:
        extra = sorted(set(call.headers) - SENT_ON)
        if extra:
            yield f"headers sent on: {', '.join(extra)}"
        if key in str(call.headers) or key.encode() in call.body:
            yield "deja's key reached the provider"
    if run == "cold":
        shaping = [collections.Counter(tuple(call.headers.get(name) for name in SHAPING) for call in calls) for calls in (expected, arrived)]
        if shaping[0] != shaping[1]:
            yield f"{', '.join(SHAPING)} were {dict(shaping[0])}, but arrived as {dict(shaping[1])}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
