"""The sockets: routes, the client's key, the faults that scripts ask for, and what was received."""

import collections
import dataclasses
import gzip
import http.server
import json
import re
import socket
import threading
import time

from . import chat, gemini, messages, responses
from .script import say
from .sse import compact

# The provider's secret. Whoever asks with another gets 401.
KEY = "sk-of-the-provider"
WIRES = {"/v1/chat/completions": chat, "/v1/responses": responses, "/v1/messages": messages}
# Members that change neither what is answered nor what is kept.
IGNORED = ("stream", "stream_options", "service_tier", "prompt_cache_key", "metadata")


def brotli(text):
    """The stream format of RFC 7932 with one block that is not compressed, of at most 64 KiB."""
    return ((len(text) - 1) << 4 | 1 << 20).to_bytes(3, "little") + text + b"\x03"


# Google's clients name different versions of its interface; deja asks one.
VERSION = re.compile(r"^/v1(?:beta)?(?=/models/)")
PACKED = {None: bytes, "gzip": gzip.compress, "br": brotli}


@dataclasses.dataclass
class Call:
    """One request as it came, and whether a cache may answer its like from now on."""

    path: str
    headers: dict
    body: bytes
    kept: bool = False

    @property
    def same(self):
        """Equal for two requests that one answer may serve."""
        body = json.loads(self.body)
        labels = body.get("metadata") or {}
        body = {name: value for name, value in body.items() if name not in IGNORED}
        path = gemini.PATH.match(self.path)
        return path["model"] if path else self.path, json.dumps([body, labels.get("user_id")], sort_keys=True)


class Provider:
    """Listens on `url` until `stop`."""

    def __init__(self):
        self.calls = []
        self.asked = collections.Counter()
        self.lock = threading.Lock()
        self.server = Server(("127.0.0.1", 0), type("Handler", (Handler,), {"provider": self}))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def taken(self):
        """The calls since the last time; scripts begin anew."""
        with self.lock:
            calls, self.calls = self.calls, []
            self.asked.clear()
        return calls

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that hangs up is none of the provider's business."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 120

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        call = Call(VERSION.sub("", self.path), {name.lower(): value for name, value in self.headers.items()}, body)
        with self.provider.lock:
            self.provider.calls.append(call)
            self.provider.asked[call.same] += 1
            attempt = self.provider.asked[call.same]
        keys = [self.headers.get(name, "").removeprefix("Bearer ") for name in ("authorization", "x-api-key", "x-goog-api-key")]
        if KEY not in keys:
            return self.plain(401, {"error": {"message": f"Incorrect API key provided: {KEY[:5]}***.", "code": "invalid_api_key"}})
        path = call.path.partition("?")[0]
        given = json.loads(body)
        if of_google := gemini.PATH.fullmatch(path):
            given |= {"model": of_google["model"], "stream": of_google["method"] == "streamGenerateContent"}
        if path == "/v1/embeddings":
            return self.plain(200, chat.embeddings(given))
        if path == "/v1/completions":
            return self.plain(200, chat.completions(given))
        if path == "/v1/messages/count_tokens":
            return self.plain(200, {"input_tokens": 8 + len(messages.read(given, "").text)})
        wire = gemini if of_google else WIRES[path]
        asked = wire.read(given, f"{call.same}{attempt}")
        return self.scripted(call, wire, asked, attempt)

    def scripted(self, call, wire, asked, attempt):
        name, argument = asked.directive
        if name == "status" or name == "flaky" and attempt == 1:
            return self.plain(int(argument), wire.error(int(argument)), {"retry-after-ms": "20"})
        said = say(asked)
        # Thoughts that are plain text are given again; signed ones are not kept.
        call.kept = said.kept and not asked.bypass and (wire is chat or not said.reasoning)
        if not asked.stream:
            if name == "failed":
                call.kept = False
                return self.plain(200, {"error": {"message": "Upstream failed.", "code": 502}})
            return self.plain(200, wire.whole(asked, said), packing=self.packing(name))
        events = wire.events(asked, said)
        if name in ("cut", "ended", "failed"):
            # After `argument` events: a broken connection; a clean end; an error event and a clean end.
            call.kept = False
            events = events[: int(argument or 3)] + ([wire.broken(asked)] if name == "failed" else [])
        if name == "unfinished":
            call.kept = False
            events = [event for event in events if b'"finish_reason":"stop"' not in event]
        silent = int(argument) / 1000 if name == "silent" else 0
        return self.stream(events, broken=name == "cut", packing=self.packing(name), silent=silent)

    def packing(self, script):
        """gzip as asked; br where the client can read it, or asked for no packing at all."""
        accepted = self.headers.get("accept-encoding", "")
        return script if script == "gzip" or script == "br" and ("br" in accepted or accepted == "identity") else None

    def opening(self, status, kind, more):
        self.send_response(status)
        # What must not reach a client of deja, and what it must not keep.
        named = {"content-type": kind, "x-request-id": "req_provider", "request-id": "req_provider", "openai-organization": "org-secret"}
        for name, value in {**named, "set-cookie": "__cf_bm=secret", "x-ratelimit-remaining-requests": "9", **more}.items():
            self.send_header(name, value)

    def plain(self, status, body, more=None, packing=None):
        sent = compact(body).encode()
        sent = PACKED[packing](sent)
        self.opening(status, "application/json", {**(more or {}), **({"content-encoding": packing} if packing else {})})
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def stream(self, events, broken, packing, silent):
        if packing:
            events = [PACKED[packing](b"".join(events))]
        self.opening(200, "text/event-stream; charset=utf-8", {"content-encoding": packing} if packing else {})
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(events):
            if silent and number == 2:
                time.sleep(silent)
            # Some events in two pieces, so that a chunk's end is not an event's end.
            half = len(event) // 2 if number % 3 == 1 else len(event)
            for piece in (event[:half], event[half:]):
                if piece:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        if broken:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_WR)
        else:
            # Behind the last event, as over a network: some clients do not wait for it.
            time.sleep(0.01)
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass
