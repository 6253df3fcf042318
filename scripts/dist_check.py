#!/usr/bin/env python3
"""Tries what scripts/dist made as somebody who downloaded it: scripts/dist_check.py FOLDER NAME.

Checksums, the archive's names, times and rights; that it starts from an empty folder, without symbols and on the libraries of
every Linux; that each package that is linked in stands in THIRD_PARTY and in the SBOM; links of the README; and the commands
of docs/start/first-hit.md.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "clients"))
import first_hit
from server import free_port

# Of glibc and of GCC: all that the program may need.
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
PARTS = "deja LICENSE NOTICE README.md CHANGELOG.md config.default.toml sbom.cdx.json THIRD_PARTY/crates.txt THIRD_PARTY/rust-library.html " \
    "Dockerfile compose.yaml deploy/deja.service deploy/kubernetes/kustomization.yaml docs/start/first-hit.md"


def demand(held, what):
    if not held:
        raise SystemExit(f"dist: {what}")


def output(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options).stdout


def archive(file, name):
    """What can be seen without unpacking."""
    with tarfile.open(file) as tar:
        members = tar.getmembers()
    names = [member.name for member in members]
    demand(names == sorted(names), "the names are not sorted")
    demand(all(one == name or one.startswith(f"{name}/") for one in names), "a name lies outside of the archive's folder")
    demand(len({member.mtime for member in members}) == 1, "there are several times")
    demand({(member.uid, member.gid) for member in members} == {(0, 0)}, "there are several owners")
    demand(all(member.isfile() or member.isdir() for member in members), "there is something else than files and folders")
    demand(all(member.mode & 0o7022 == 0 for member in members), "somebody else may write")


def program(home):
    """The binary by itself; its oldest glibc."""
    binary = home / "deja"
    version = re.search(r'^version = "(.+)"', (REPOSITORY / "Cargo.toml").read_text(), re.MULTILINE)[1]
    demand(output(binary, "--version").strip() == f"deja {version}", "--version says something else")
    dynamic = output("objdump", "-p", binary)
    needed = set(re.findall(r"NEEDED +(\S+)", dynamic))
    demand(needed <= LIBRARIES, f"it needs {needed - LIBRARIES}")
    demand("SYMBOL TABLE:\nno symbols" in output("objdump", "-t", binary), "it is not stripped")
    listen = f"127.0.0.1:{free_port()}"
    environment = {"PATH": "/usr/bin:/bin", "DEJA_LISTEN": listen, "DEJA_PRICES_URL": ""}
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [binary, "serve"], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 120
        while not answers(f"http://{listen}/livez"):
            demand(server.poll() is None and time.monotonic() < deadline, "it does not answer /livez")
            time.sleep(0.2)
        server.terminate()
        _, log = server.communicate(timeout=60)
        demand(server.returncode == 0, f"it ended with {server.returncode}\n{log}")
    return max(re.findall(r"GLIBC_([\d.]+)", dynamic), key=lambda version: [int(part) for part in version.split(".")])


def answers(address):
    try:
        return urllib.request.urlopen(address).status == 200
    except OSError:
        return False


def packages(home, target):
    """Each package that is linked in is named, with its licence's text and in the SBOM; how many there are."""
    tree = output(
        "cargo", "tree", "--locked", "--package", "deja-server", "--edges", "normal,no-proc-macro", "--target", target, "--prefix", "none", cwd=REPOSITORY
    )
    linked = {tuple(line.split()[:2]) for line in tree.splitlines() if "(/" not in line}
    linked = {(package, version.removeprefix("v")) for package, version in linked}
    texts = (home / "THIRD_PARTY/crates.txt").read_text()
    users = {tuple(user.split()) for line in re.findall(r"^Used by: (.+)$", texts, re.MULTILINE) for user in line.split(", ")}
    demand(linked <= users, f"THIRD_PARTY has no licence of {sorted(linked - users)}")
    sbom = json.loads((home / "sbom.cdx.json").read_text())
    demand(sbom["bomFormat"] == "CycloneDX" and sbom["metadata"]["component"]["name"] == "deja-server", "the SBOM is of something else")
    components = {(component["name"], component["version"]) for component in sbom["components"]}
    demand(linked <= components, f"the SBOM lacks {sorted(linked - components)}")
    for text in ("sbom.cdx.json", "THIRD_PARTY/crates.txt"):
        demand(str(REPOSITORY) not in (home / text).read_text(), f"{text} names a folder of this machine")
    return len(linked)


def main(folder, name):
    folder = pathlib.Path(folder)
    output("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=folder)
    sums = (folder / "SHA256SUMS").read_text()
    demand(all(f"{name}.{kind}" in sums for kind in ("tar.gz", "cdx.json")), "SHA256SUMS lacks a file")
    archive(folder / f"{name}.tar.gz", name)
    with tempfile.TemporaryDirectory() as empty:
        output("tar", "-xzf", (folder / f"{name}.tar.gz").resolve(), cwd=empty)
        home = pathlib.Path(empty, name)
        missing = [part for part in PARTS.split() if not (home / part).is_file()]
        demand(not missing, f"the archive lacks {missing}")
        links = re.findall(r"\]\((?!https?:)([^)#]+)", (home / "README.md").read_text())
        dead = [link for link in links if not (home / link).exists()]
        demand(links and not dead, f"the README's links lead nowhere: {dead}")
        glibc = program(home)
        count = packages(home, name.split("-", 2)[2])
    steps, faults = first_hit.check(folder)
    demand(not faults, f"docs/start/first-hit.md: {faults}")
    size = (folder / f"{name}.tar.gz").stat().st_size / 1e6
    print(f"dist: {folder / name}.tar.gz, {size:.0f} MB, {count} packages, glibc {glibc} or newer, {len(steps)} steps of the first hit")


if __name__ == "__main__":
    os.umask(0o022)
    main(*sys.argv[1:])
