"""Google's Gemini.

Shapes: Google's API reference, https://ai.google.dev/api/generate-content. The model and whether the answer is a stream
stand in the path.
"""

import json
import re

from .script import Asked
from .sse import event

PATH = re.compile(r"/models/(?P<model>[^:]+):(?P<method>generateContent|streamGenerateContent)")
# Google takes both spellings, and its library sends both.
PARAMETERS = ("parametersJsonSchema", "parameters_json_schema", "parameters")
FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "tool": "STOP", "filter": "SAFETY", "refusal": "PROHIBITED_CONTENT"}


def read(body, seed):
    turns = body["contents"]
    config = body.get("generationConfig") or {}
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    mode = calling.get("mode", "AUTO")
    declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
    hosted = any("functionDeclarations" not in tool for tool in body.get("tools", []))
    results = [part for turn in turns for part in turn["parts"] if "functionResponse" in part]
    spoken = [turn for turn in turns if turn.get("role", "user") == "user" and any("text" in part for part in turn["parts"])]
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    return Asked(
        model=body["model"],
        text="\n".join(part["text"] for part in spoken[-1]["parts"] if "text" in part) if spoken else "",
        stream=body["stream"],
        seed=seed,
        tools=[] if mode == "NONE" else [
            (one["name"], lower(next((one[name] for name in PARAMETERS if name in one), {}))) for one in declared],
        results=len(results),
        answering=any("functionResponse" in part for part in turns[-1]["parts"]),
        forced=mode == "ANY" and (calling.get("allowedFunctionNames") or [True])[0],
        schema=lower(schema) if schema else {} if config.get("responseMimeType") == "application/json" else None,
        choices=config.get("candidateCount") or 1,
        bypass=hosted or (config.get("candidateCount") or 1) > 1 or bool(re.search("file_?uri", json.dumps(turns), re.IGNORECASE)),
        body=body,
    )


def lower(schema):
    """Google writes the names of JSON's types in capitals."""
    if isinstance(schema, list):
        return [lower(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: value.lower() if name == "type" and isinstance(value, str) else lower(value) for name, value in schema.items()}


def usage(asked, tokens):
    asking = 8 + len(asked.text)
    return {
        "promptTokenCount": asking, "candidatesTokenCount": tokens, "totalTokenCount": asking + tokens,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": asking}],
    }


def chunk(asked, parts, tokens, finish=None):
    made = {"content": {"parts": parts, "role": "model"}, **({"finishReason": FINISH[finish]} if finish else {})}
    return {
        "candidates": [{**made, "index": index} for index in range(asked.choices)],
        "usageMetadata": usage(asked, tokens), "modelVersion": asked.model, "responseId": asked.id("resp-"),
    }


def calls(said):
    return [{"functionCall": {"name": name, "args": given}} for name, given in said.calls]


def whole(asked, said):
    parts = [{"text": said.reasoning, "thought": True}] if said.reasoning else []
    parts += [{"text": said.text}] if said.text else []
    return chunk(asked, parts + calls(said), said.tokens, said.finish)


def events(asked, said):
    parts = [{"text": piece, "thought": True} for piece in said.pieces(said.reasoning)]
    parts += [{"text": piece} for piece in said.pieces()] + calls(said)
    *before, last = parts
    sent = [event(chunk(asked, [part], min(number, said.tokens))) for number, part in enumerate(before)]
    return [*sent, event(chunk(asked, [last], said.tokens, said.finish))]


def error(status):
    name, message = {
        400: ("INVALID_ARGUMENT", "Invalid value at 'generation_config.temperature'."),
        404: ("NOT_FOUND", "models/gemini-nowhere is not found for API version v1beta."),
        429: ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        500: ("INTERNAL", "An internal error has occurred."),
        503: ("UNAVAILABLE", "The model is overloaded. Please try again later."),
    }[status]
    return {"error": {"code": status, "message": message, "status": name}}


def broken(asked):
    del asked
    return event(error(503))
