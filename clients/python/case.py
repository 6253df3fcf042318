"""One thing that an application does with its client library, and what came of it.

A script declares its cases; each prints one line of JSON. In the run "swapped" a case that leaves it open asks for a
stream where it asked for a plain answer before, and the reverse: what was stored one way is then served the other.
"""

import json
import os
import sys

ROOT = os.environ["CLIENT_URL"]
KEY = os.environ["CLIENT_KEY"]
SWAPPED = os.environ["CLIENT_RUN"] == "swapped"

TOOL = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "tags"],
    "additionalProperties": False,
}
# For suites whose questions resemble each other and are answered differently.
EXACT = {"x-deja-cache": "exact"}
# A black pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
MEDIA = "data:image/png;base64," + PIXEL


def streamed(stream):
    return stream != SWAPPED


def tell(name, outcome):
    print(json.dumps({"case": name, **outcome}), flush=True)
    # Until the calls of this case are taken.
    sys.stdin.readline()


def case(name, act, *arguments, **named):
    """Tells what `act` returned, or how the call failed."""
    try:
        outcome = {"outcome": act(*arguments, **named)}
    except (TypeError, AttributeError, NameError, LookupError):
        # A fault of the script, or an answer that it cannot read.
        raise
    except Exception as fault:  # noqa: BLE001
        outcome = {"outcome": {"error": failure(fault)}}
    tell(name, outcome)


def failure(fault):
    """What an application can tell about a failed call. A cut is told by its class alone: who cut it says how."""
    # Google's library has the status as its code, which is a word elsewhere.
    code = getattr(fault, "code", None)
    status = getattr(fault, "status_code", code)
    if not isinstance(status, int) or type(fault).__name__ == "MidStreamFallbackError":
        return {"broken": True}
    body = getattr(fault, "body", getattr(fault, "details", None))
    return {"status": status, "class": type(fault).__name__, "code": code, "body": body}


def told(headers):
    """The headers of an answer, which differ by design and are judged apart."""
    return {name.lower(): value for name, value in headers.items()}
