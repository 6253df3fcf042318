"""The client of LiteLLM, which asks in the format of the model's provider."""

import gc
import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches a file
import litellm  # noqa: E402

from case import KEY, ROOT, TOOL, case, streamed  # noqa: E402

litellm.suppress_debug_info = True
# LiteLLM drops failed streams unclosed. Collected inside a later call, httpcore's pool waits for its own lock forever.
gc.disable()
ENDS = {"openai/gpt-4o-mini": f"{ROOT}/v1", "anthropic/claude-sonnet-4-6": ROOT}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": TOOL}}]


def ask(model, messages, stream=False, **more):
    gc.collect()
    messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    asked = {"model": model, "api_base": ENDS[model], "api_key": KEY, "messages": messages, "num_retries": 0, "max_retries": 0, **more}
    if streamed(stream):
        chunks = list(litellm.completion(**asked, stream=True, stream_options={"include_usage": True}))
        answer = litellm.stream_chunk_builder(chunks, messages=messages)
    else:
        answer = litellm.completion(**asked)
    choice = answer.choices[0]
    return {
        "text": choice.message.content or "", "finish": choice.finish_reason,
        "calls": [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls or []],
        "usage": [answer.usage.prompt_tokens, answer.usage.completion_tokens],
    }


def tool_loop(model, stream):
    messages, turns = [{"role": "user", "content": f"The weather in Oslo, {stream}? [[loop 2]]"}], []
    for _ in range(5):
        turn = ask(model, messages, stream, tools=TOOLS)
        turns.append(turn)
        if not turn["calls"]:
            return turns
        messages.append({"role": "assistant", "content": None, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": given}} for id, name, given in turn["calls"]]})
        messages += [{"role": "tool", "tool_call_id": id, "content": json.dumps({"sun": len(turns)})} for id, _, _ in turn["calls"]]
    return turns


for model in ENDS:
    for stream in (False, True):
        way = f"{model.partition('/')[0]}, {'streamed' if stream else 'plain'}"
        place = "the sea" if stream else "the Alps"
        case(way, ask, model, f"How was {place} made?", stream)
        case(f"{way}, instructions", ask, model, [
            {"role": "system", "content": "Answer like a pirate."}, {"role": "user", "content": f"Describe {place}."}], stream)
        case(f"{way}, settings", ask, model, f"Which animals live in {place}?", stream, temperature=0.3, max_tokens=50)
        case(f"{way}, white space", ask, model, f"Write a function about {place}. [[code]]", stream)
        case(f"{way}, tool loop", tool_loop, model, stream)
        for status in (400, 429, 500):
            case(f"{way}, status {status}", ask, model, f"Fail at {place}. [[status {status}]]", stream)
for number in (1, 3, 5):
    case(f"openai, cut after {number}", ask, "openai/gpt-4o-mini", f"Why is the sky blue? [[cut {number}]]", not streamed(False))
case("responses", lambda: litellm.responses(
    model="openai/gpt-4.1-mini", api_base=f"{ROOT}/v1", api_key=KEY, input="Who wrote Hamlet?", store=False).output[0].content[0].text)
case("embeddings", lambda: litellm.embedding(
    model="openai/text-embedding-3-small", api_base=f"{ROOT}/v1", api_key=KEY, input=["a", "b"]).data)
