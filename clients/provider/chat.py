"""OpenAI's chat completions, embeddings and legacy completions.

Shapes: OpenAI's API reference, https://platform.openai.com/docs/api-reference/chat.
"""

import base64
import json
import struct

from .script import Asked
from .sse import event

FINISH = {"stop": "stop", "length": "length", "tool": "tool_calls", "filter": "content_filter", "refusal": "stop"}


def read(body, seed):
    messages = body["messages"]
    forced = body.get("tool_choice", "auto")
    shape = body.get("response_format") or {}
    tools = [] if forced == "none" else body.get("tools", [])
    users = [message for message in messages if message["role"] == "user"]
    return Asked(
        model=body["model"],
        text=parts(users[-1]["content"]) if users else "",
        stream=bool(body.get("stream")),
        seed=seed,
        tools=[(tool["function"]["name"], tool["function"].get("parameters", {})) for tool in tools],
        results=sum(message["role"] == "tool" for message in messages),
        answering=messages[-1]["role"] == "tool",
        forced=forced["function"]["name"] if isinstance(forced, dict) else forced in ("required", "any"),
        schema={"json_schema": (shape.get("json_schema") or {}).get("schema"), "json_object": {}}.get(shape.get("type")),
        usage=bool((body.get("stream_options") or {}).get("include_usage")),
        choices=body.get("n") or 1,
        logprobs=bool(body.get("logprobs")),
        bypass=(body.get("n") or 1) > 1 or bool(body.get("logprobs")) or body.get("store") is True
        or "web_search_options" in body or '"url":"http' in json.dumps(body, separators=(",", ":")),
        body=body,
    )


def parts(content):
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def usage(asked, said):
    tokens = {"prompt_tokens": 8 + len(asked.text), "completion_tokens": said.tokens}
    return {
        **tokens,
        "total_tokens": sum(tokens.values()),
        "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 2, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    }


def calls(asked, said):
    return [
        {"id": asked.id(f"call_{n}"), "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for n, (name, given) in enumerate(said.calls)
    ]


def head(asked, kind):
    return {"id": asked.id("chatcmpl-"), "object": kind, "created": 1785500000, "model": f"{asked.model}-2026-08-01"}


def tail():
    return {"service_tier": "default", "system_fingerprint": "fp_44709d6fcb"}


def whole(asked, said):
    message = {"role": "assistant", "content": said.text or None, "refusal": None, "annotations": []}
    if said.finish == "refusal":
        message |= {"content": None, "refusal": said.text}
    if said.calls:
        message["tool_calls"] = calls(asked, said)
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    logprobs = {"content": [{"token": said.text, "logprob": -0.5, "bytes": None, "top_logprobs": []}], "refusal": None}
    return {
        **head(asked, "chat.completion"),
        "choices": [
            {
                "index": index,
                "message": message,
                "logprobs": logprobs if asked.logprobs else None,
                "finish_reason": FINISH[said.finish],
            }
            for index in range(asked.choices)
        ],
        "usage": usage(asked, said),
        **tail(),
    }


def events(asked, said):
    field = "refusal" if said.finish == "refusal" else "content"
    deltas = [{"role": "assistant", "content": None if said.calls else "", "refusal": None}]
    deltas += [{"reasoning_content": piece} for piece in said.pieces(said.reasoning)]
    deltas += [{field: piece} for piece in said.pieces()]
    for index, made in enumerate(calls(asked, said)):
        given = made["function"]["arguments"]
        opening = {"index": index, **made, "function": {**made["function"], "arguments": ""}}
        deltas.append({"tool_calls": [opening]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in said.pieces(given)]

    def chunk(choices, **more):
        none = {"usage": None} if asked.usage else {}
        return event({**head(asked, "chat.completion.chunk"), **tail(), "choices": choices, **none, **more})

    def choice(delta, finish=None):
        return [
            {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish} for index in range(asked.choices)
        ]

    # OpenAI pads each chunk with `obfuscation`, so that its length tells nothing.
    sent = [chunk(choice(delta), obfuscation="x" * (3 + number % 5)) for number, delta in enumerate(deltas)]
    sent.append(chunk(choice({}, FINISH[said.finish]), obfuscation="xyz"))
    if asked.usage:
        sent.append(chunk([], usage=usage(asked, said), obfuscation=""))
    return [*sent, event("[DONE]")]


def error(status):
    kind, code, message = {
        400: ("invalid_request_error", "unsupported_value", "Unsupported value: 'temperature' does not support 3."),
        404: ("invalid_request_error", "model_not_found", "The model does not exist or you do not have access to it."),
        422: ("invalid_request_error", None, "Unprocessable."),
        429: ("tokens", "rate_limit_exceeded", "Rate limit reached for requests. Please try again in 20ms."),
        500: ("server_error", None, "The server had an error while processing your request."),
        503: ("service_unavailable_error", "server_is_overloaded", "The engine is currently overloaded."),
    }[status]
    return {"error": {"message": message, "type": kind, "param": "temperature" if status == 400 else None, "code": code}}


def broken(asked):
    del asked
    return event({"error": {"message": "The server had an error.", "type": "server_error", "param": None, "code": None}})


def embeddings(body):
    given = body["input"] if isinstance(body["input"], list) else [body["input"]]

    def vector(index):
        numbers = [0.25 * (index + 1), -0.5, 0.125]
        packed = base64.b64encode(struct.pack("<3f", *numbers)).decode()
        return packed if body.get("encoding_format") == "base64" else numbers

    return {
        "object": "list",
        "data": [{"object": "embedding", "index": index, "embedding": vector(index)} for index in range(len(given))],
        "model": body["model"],
        "usage": {"prompt_tokens": 5, "total_tokens": 5},
    }


def completions(body):
    return {
        "id": "cmpl-1", "object": "text_completion", "created": 1785500000, "model": body["model"],
        "choices": [{"text": "and then", "index": 0, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }
