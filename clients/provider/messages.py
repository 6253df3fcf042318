"""Anthropic's Messages.

Shapes: Anthropic's API reference, https://docs.anthropic.com/en/api/messages and .../messages-streaming.
"""

import json
import re

from .script import Asked
from .sse import event

# The ids that this provider gives. A thread goes on from one of them.
OWN_ID = re.compile(r"msg_01[0-9a-f]{24}")
FINISH = {"stop": "end_turn", "length": "max_tokens", "tool": "tool_use", "filter": "refusal", "refusal": "refusal"}


def read(body, seed):
    messages = body["messages"]
    forced = body.get("tool_choice") or {"type": "auto"}
    tools = [] if forced["type"] == "none" else body.get("tools", [])
    shape = (body.get("output_config") or {}).get("format") or {}
    results = [block for message in messages for block in blocks(message) if block["type"] == "tool_result"]
    text = "\n".join(block["text"] for block in blocks(said_by_user(messages)) if block["type"] == "text")
    before = (body.get("thread") or {}).get("previous_message_id")
    return Asked(
        model=body["model"],
        text="[[status 404]]" if before and not OWN_ID.fullmatch(before) else text,
        stream=bool(body.get("stream")),
        seed=seed,
        tools=[(tool["name"], tool["input_schema"]) for tool in tools if "input_schema" in tool],
        results=len(results),
        answering=any(block["type"] == "tool_result" for block in blocks(messages[-1])),
        forced={"tool": forced.get("name"), "any": True}.get(forced["type"], False),
        schema=shape.get("schema"),
        bypass="thread" in body or any("input_schema" not in tool for tool in tools)
        or '"type":"url"' in json.dumps(body, separators=(",", ":")),
        body=body,
    )


def blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def said_by_user(messages):
    """The last message of the user that is not only the results of tools."""
    spoken = [m for m in messages if m["role"] == "user" and any(b["type"] == "text" for b in blocks(m))]
    return spoken[-1] if spoken else messages[-1]


def usage(asked, tokens):
    return {
        "input_tokens": 8 + len(asked.text), "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": tokens, "service_tier": "standard",
    }


def head(asked, tokens):
    return {
        "model": f"{asked.model}-20260801", "id": asked.id("msg_01"), "type": "message", "role": "assistant",
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage(asked, tokens),
    }


def content(asked, said):
    made = [{"type": "thinking", "thinking": said.reasoning, "signature": "c2lnbmVk"}] if said.reasoning else []
    made += [{"type": "text", "text": said.text}] if said.text else []
    return made + [
        {"type": "tool_use", "id": asked.id(f"toolu_{n}"), "name": name, "input": given}
        for n, (name, given) in enumerate(said.calls)
    ]


def whole(asked, said):
    return {**head(asked, said.tokens), "content": content(asked, said), "stop_reason": FINISH[said.finish]}


def events(asked, said):
    sent = []

    def send(kind, **data):
        sent.append(event({"type": kind, **data}, kind))

    send("message_start", message=head(asked, 1))
    for index, block in enumerate(content(asked, said)):
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
        send("content_block_start", index=index, content_block={**block, **empty[block["type"]]})
        if index == 0:
            send("ping")
        for delta in deltas(said, block):
            send("content_block_delta", index=index, delta=delta)
        send("content_block_stop", index=index)
    final = usage(asked, said.tokens)
    counted = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    ended = {"stop_reason": FINISH[said.finish], "stop_sequence": None}
    send("message_delta", delta=ended, usage={name: final[name] for name in counted})
    send("message_stop")
    return sent


def deltas(said, block):
    if block["type"] == "text":
        return [{"type": "text_delta", "text": piece} for piece in said.pieces(block["text"])]
    if block["type"] == "thinking":
        made = [{"type": "thinking_delta", "thinking": piece} for piece in said.pieces(block["thinking"])]
        return [*made, {"type": "signature_delta", "signature": block["signature"]}]
    given = json.dumps(block["input"])
    return [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *said.pieces(given)]]


def error(status):
    kind, message = {
        400: ("invalid_request_error", "temperature: Input should be less than or equal to 1"),
        404: ("not_found_error", "model: claude-nowhere"),
        422: ("invalid_request_error", "Unprocessable."),
        429: ("rate_limit_error", "This request would exceed your organization's rate limit."),
        500: ("api_error", "Internal server error"),
        503: ("api_error", "Service unavailable"),
        529: ("overloaded_error", "Overloaded"),
    }[status]
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011fake"}


def broken(asked):
    del asked
    return event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error")
