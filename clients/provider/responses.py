"""OpenAI's Responses.

Shapes: OpenAI's API reference, https://platform.openai.com/docs/api-reference/responses.
"""

import json

from . import chat
from .script import Asked
from .sse import event


def read(body, seed):
    items = body["input"]
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    forced = body.get("tool_choice", "auto")
    shape = (body.get("text") or {}).get("format") or {}
    tools = [] if forced == "none" else body.get("tools", [])
    users = [item for item in items if item.get("role") == "user"]
    hosted = any(tool["type"] != "function" for tool in tools)
    stateful = ("previous_response_id", "conversation", "background", "prompt")
    return Asked(
        model=body["model"],
        text=parts(users[-1]["content"]) if users else "",
        stream=bool(body.get("stream")),
        seed=seed,
        tools=[(tool["name"], tool.get("parameters", {})) for tool in tools if tool["type"] == "function"],
        results=sum(item.get("type") == "function_call_output" for item in items),
        answering=items[-1].get("type") == "function_call_output",
        forced=forced["name"] if isinstance(forced, dict) else forced == "required",
        schema={"json_schema": shape.get("schema"), "json_object": {}}.get(shape.get("type")),
        bypass=hosted or any(body.get(name) for name in stateful) or '_url":"http' in json.dumps(body, separators=(",", ":")),
        body=body,
    )


def parts(content):
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "input_text")


def skeleton(asked):
    """A response without its output."""
    body = asked.body
    return {
        "id": asked.id("resp_"), "object": "response", "created_at": 1785500000, "status": "in_progress",
        "background": False, "error": None, "incomplete_details": None, "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"), "max_tool_calls": None, "model": f"{asked.model}-2026-08-01",
        "output": [], "parallel_tool_calls": True, "previous_response_id": body.get("previous_response_id"),
        "prompt_cache_key": None, "reasoning": {"effort": None, "summary": None}, "safety_identifier": None,
        "service_tier": "default", "store": body.get("store", True), "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": body.get("tool_choice", "auto"), "tools": body.get("tools", []), "top_logprobs": 0,
        "top_p": 1.0, "truncation": "disabled", "usage": None, "user": None, "metadata": body.get("metadata", {}),
    }


def output(asked, said):
    items = []
    if said.reasoning:
        items.append({
            "id": asked.id("rs_"), "type": "reasoning", "encrypted_content": "gAAAAsealed",
            "summary": [{"type": "summary_text", "text": said.reasoning}],
        })
    if said.text:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": said.text}
        if said.finish == "refusal":
            part = {"type": "refusal", "refusal": said.text}
        items.append({"id": asked.id("msg_"), "type": "message", "status": "completed", "content": [part], "role": "assistant"})
    for n, (name, given) in enumerate(said.calls):
        items.append({
            "id": asked.id(f"fc_{n}"), "type": "function_call", "status": "completed", "arguments": json.dumps(given),
            "call_id": asked.id(f"call_{n}"), "name": name,
        })
    return items


def whole(asked, said):
    cut = {"length": "max_output_tokens", "filter": "content_filter"}.get(said.finish)
    tokens = {"input_tokens": 8 + len(asked.text), "output_tokens": said.tokens}
    return {
        **skeleton(asked),
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": cut} if cut else None,
        "output": output(asked, said),
        "usage": {
            "input_tokens": tokens["input_tokens"], "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": tokens["output_tokens"], "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": sum(tokens.values()),
        },
    }


def events(asked, said):
    sent = []

    def send(kind, **data):
        sent.append(event({"type": f"response.{kind}", "sequence_number": len(sent), **data}, f"response.{kind}"))

    send("created", response=skeleton(asked))
    send("in_progress", response=skeleton(asked))
    for index, item in enumerate(output(asked, said)):
        here = {"output_index": index}
        within = {"item_id": item["id"], **here}
        content = {"content": []} if item["type"] == "message" else {}
        send("output_item.added", **here, item={**item, **content, "status": "in_progress"})
        if item["type"] == "message":
            part = item["content"][0]
            kind = part["type"]
            field = "refusal" if kind == "refusal" else "text"
            within["content_index"] = 0
            more = {} if kind == "refusal" else {"logprobs": []}
            send("content_part.added", **within, part={**part, field: ""})
            for piece in said.pieces(part[field]):
                send(f"{kind}.delta", **within, delta=piece, **more, obfuscation="xYz")
            send(f"{kind}.done", **within, **{field: part[field]}, **more)
            send("content_part.done", **within, part=part)
        if item["type"] == "function_call":
            for piece in said.pieces(item["arguments"]):
                send("function_call_arguments.delta", **within, delta=piece, obfuscation="xYz")
            send("function_call_arguments.done", **within, arguments=item["arguments"], name=item["name"])
        send("output_item.done", **here, item=item)
    last = whole(asked, said)
    send(last["status"], response=last)
    return sent


def broken(asked):
    del asked
    fault = {"code": "server_error", "message": "The server had an error.", "param": None}
    return event({"type": "error", "sequence_number": 9, **fault, "error": {"type": "server_error", **fault}}, "error")


error = chat.error
