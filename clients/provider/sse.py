"""Server-sent events."""

import json


def event(data, name=None):
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else compact(data)}\n\n".encode()


def compact(value):
    """As providers write it: few escapes, so that characters of several bytes lie in the stream."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
