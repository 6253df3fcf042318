#!/usr/bin/env python3
"""Restarts two replicas one after the other under load, behind the balancer of deploy/Caddyfile, and kills one.

    scripts/rolling.py [DEJA]        DEJA is the binary, target/release/deja unless given

Needs `caddy` (in Debian: apt-get install caddy). Prints a line for each phase: requests, how many failed, and the
slowest. Fails if a request failed other than by the kill, which may break those that the killed replica had.
"""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
BALANCER, PORTS = 18100, (18101, 18102)
CLIENTS = 8


class Provider(http.server.BaseHTTPRequestHandler):
    """An LLM provider that answers after 50 ms."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        time.sleep(0.05)
        message = {"role": "assistant", "content": "Open the settings."}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
        body = json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        # A replica that was killed does not wait for it.
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Replica:
    def __init__(self, deja, port, environment):
        self.deja, self.port = deja, port
        self.data = tempfile.mkdtemp(prefix="deja-rolling-")
        self.environment = {**environment, "DEJA_LISTEN": f"127.0.0.1:{port}", "DEJA_DATA_DIR": self.data}
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.deja, "serve"], env=self.environment, stdout=subprocess.DEVNULL)
        for _ in range(600):
            if self.cli("health", check=False).returncode == 0:
                return
            time.sleep(0.1)
        sys.exit("rolling.py: a replica is not ready after a minute")

    def cli(self, *arguments, check=True):
        command = [self.deja, *arguments]
        return subprocess.run(command, env=self.environment, check=check, capture_output=True, text=True)

    def restart(self):
        self.process.terminate()
        self.process.wait()
        self.start()
        # As an operator would: the balancer has seen it before the next one goes.
        time.sleep(2.5)

    def kill(self):
        self.process.kill()
        self.process.wait()
        time.sleep(3)


class Load:
    """Clients that ask one thing after the other, each prompt three times."""

    def __init__(self, key):
        self.key, self.answers, self.lock, self.ended = key, [], threading.Lock(), False
        self.threads = [threading.Thread(target=self.client, args=(n,)) for n in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def client(self, number):
        connection = http.client.HTTPConnection("127.0.0.1", BALANCER, timeout=30)
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        count = 0
        while not self.ended:
            count += 1
            body = json.dumps({"prompt": f"question {number} {count // 3}", "model": "gpt-4o-mini"})
            began, status = time.monotonic(), 0
            try:
                connection.request("POST", "/v1/cache/query", body, headers)
                response = connection.getresponse()
                response.read()
                status = response.status
            except (OSError, http.client.HTTPException):
                connection.close()
            with self.lock:
                self.answers.append((status, time.monotonic() - began))

    def phase(self, name, work):
        with self.lock:
            self.answers.clear()
        work()
        time.sleep(2)
        with self.lock:
            answers = list(self.answers)
        failed = sum(status != 200 for status, _ in answers)
        slowest = max(seconds for _, seconds in answers)
        print(f"{name}: {len(answers)} requests, {failed} failed, slowest {slowest:.2f} s", flush=True)
        return failed

    def end(self):
        self.ended = True
        for thread in self.threads:
            thread.join()


def main(arguments):
    deja = arguments[0] if arguments else str(REPOSITORY / "target/release/deja")
    if shutil.which("caddy") is None:
        sys.exit("rolling.py: it needs caddy; in Debian: apt-get install caddy")
    provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    script = [sys.executable, str(REPOSITORY / "scripts/postgres.py"), "serve"]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as database:
        environment = {
            "PATH": os.environ["PATH"],
            "DEJA_DATABASE_URL": database.stdout.readline().strip(),
            "DEJA_MASTER_KEY": "00" * 32,
            "DEJA_SHUTDOWN_DELAY_S": "3",
            "DEJA_PRICES_URL": "",
            "DEJA_LOG": "warn",
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{provider.server_port}/v1",
        }
        replicas = [Replica(deja, port, environment) for port in PORTS]
        limits = ["--tier", "enterprise", "--rpm", "1000000", "--burst", "1000000"]
        replicas[0].cli("project", "create", "rolling", *limits)
        key = replicas[0].cli("key", "create", "--project", "rolling", "--name", "k").stdout.split()[-1]
        rules = (REPOSITORY / "deploy/Caddyfile").read_text()
        rules = rules.replace("deja-1:8080 deja-2:8080", " ".join(f"127.0.0.1:{port}" for port in PORTS))
        folder = pathlib.Path(replicas[0].data)
        (folder / "Caddyfile").write_text(rules.replace(":8080 {", f":{BALANCER} {{"))
        command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
        home = {**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        balancer = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=home)
        time.sleep(2)
        load = Load(key)
        failed = load.phase("undisturbed", lambda: time.sleep(3))
        failed += load.phase("rolling restart", lambda: [replica.restart() for replica in replicas])
        killed = load.phase("kill -9 of one", replicas[0].kill)
        load.end()
        for process in (balancer, replicas[1].process):
            process.kill()
            process.wait()
        for replica in replicas:
            shutil.rmtree(replica.data, ignore_errors=True)
        database.stdin.close()
    return failed > 0 or killed > CLIENTS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
