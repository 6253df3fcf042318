"""Anthropic's own library."""

import asyncio

import anthropic

from case import KEY, PIXEL, ROOT, SCHEMA, TOOL, case, streamed, tell, told

MODEL = "claude-sonnet-4-6"
client = anthropic.Anthropic(base_url=ROOT, api_key=KEY, max_retries=0)
TOOLS = [{"name": "get_weather", "description": "Tells the weather.", "input_schema": TOOL}]


def user(content):
    return [{"role": "user", "content": content}]


def message(answer):
    return {
        "id": answer.id, "model": answer.model, "stop": answer.stop_reason, "role": answer.role,
        "content": [block.model_dump(mode="json", exclude_none=True) for block in answer.content],
        # A stream's message counts what message_delta tells, which leaves out what the plain answer adds.
        "usage": {name: getattr(answer.usage, name) for name in
                  ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")},
    }


def ask(messages, stream=False, **more):
    asked = {"model": MODEL, "max_tokens": 512, "messages": messages if isinstance(messages, list) else user(messages), **more}
    if not streamed(stream):
        return message(client.messages.create(**asked))
    with client.messages.stream(**asked) as events:
        return message(events.get_final_message())


def events(text):
    said, kinds, fault = "", [], None
    try:
        for event in client.messages.create(model=MODEL, max_tokens=64, messages=user(text), stream=True):
            said += event.delta.text if event.type == "content_block_delta" else ""
            kinds += [event.type] if event.type not in kinds else []
    except Exception as error:  # noqa: BLE001
        fault = type(error).__name__
    # Pings come when they come.
    return {"text": said, "broken": fault is not None, "kinds": [] if fault else sorted(set(kinds) - {"ping"})}


def tool_loop(stream):
    messages, turns = user("How will the weather be in Lund? [[loop 2]]"), []
    for _ in range(5):
        turn = ask(messages, stream=stream, tools=TOOLS, metadata={"user_id": f"loop-{stream}"})
        turns.append(turn)
        calls = [block for block in turn["content"] if block["type"] == "tool_use"]
        if not calls:
            return turns
        messages.append({"role": "assistant", "content": [
            {name: block[name] for name in ("type", "id", "name", "input")} for block in calls]})
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": block["id"], "content": f"snow {len(turns)}"} for block in calls]})
    return turns


def thread():
    """Two turns of a conversation that the provider keeps: the second goes on from the id of the first."""
    turns, position = [], {"type": "create"}
    for said in ("Name a tree of the north.", "And a bush?"):
        turn = client.beta.messages.create(model=MODEL, max_tokens=64, messages=user(said), thread=position)
        turns.append(message(turn))
        position = {"type": "continue", "previous_message_id": turn.id}
    return turns


async def asynchronous():
    async with anthropic.AsyncAnthropic(base_url=ROOT, api_key=KEY, max_retries=0) as apart:
        async with apart.messages.stream(model=MODEL, max_tokens=64, messages=user("Why do dogs bark?")) as stream:
            return message(await stream.get_final_message())


def raw():
    answer = client.messages.with_raw_response.create(
        model=MODEL, max_tokens=64, messages=user("Which river flows through Rome and where does it rise?"))
    answer.parse()
    tell("headers, plain", {"headers": told(answer.headers), "kept": True})


for stream, way in ((False, "plain"), (True, "streamed")):
    place = "the sea" if stream else "the Alps"
    case(f"{way}", ask, f"How was {place} made?", stream)
    case(f"{way}, instructions", ask, f"Describe {place} in a poem.", stream, system="Answer like a pirate.")
    case(f"{way}, marked for the prompt cache", ask, f"Who rules {place}?", stream, system=[
        {"type": "text", "text": "Answer like a herald.", "cache_control": {"type": "ephemeral"}}])
    case(f"{way}, settings", ask, f"Which animals live in {place}?", stream, stop_sequences=["END"],
         extra_body={"temperature": 0.2, "top_k": 5})  # which the library no longer names
    for company in ("Acme", "Contoso"):
        case(f"{way}, turns about {company}", ask, [
            *user(f"Who founded {company}?"), {"role": "assistant", "content": "A salesman."}, *user(f"How old is he, {way}?")], stream)
    case(f"{way}, white space", ask, f"Write a function, {way}. [[code]]", stream)
    case(f"{way}, other ends of lines", ask, f"Write a song, {way}. [[lines]]", stream)
    case(f"{way}, tool loop", tool_loop, stream)
    case(f"{way}, two calls", ask, f"Compare the weather of two towns, {way}. [[twice]]", stream, tools=TOOLS)
    case(f"{way}, chosen tool", ask, f"Oslo, {way}?", stream, tools=TOOLS, tool_choice={"type": "tool", "name": "get_weather"})
    case(f"{way}, schema", ask, f"Name a fruit of {place}.", stream, output_config={
        "format": {"type": "json_schema", "schema": SCHEMA}})
    case(f"{way}, image", ask, user([
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        {"type": "text", "text": f"What is on it, {way}?"}]), stream)
    case(f"{way}, image behind a URL", ask, user([
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "text", "text": f"What is there, {way}?"}]), stream)
    case(f"{way}, hosted tool", ask, f"What is new in {place}?", stream, tools=[{"type": "web_search_20250305", "name": "web_search"}])
    case(f"{way}, thinking", ask, f"Think of {place}. [[reasoning]]", stream, max_tokens=2048, thinking={"type": "enabled", "budget_tokens": 1024})
    case(f"{way}, unknown member", ask, f"What is the tallest tower of {place}?", stream, extra_body={"tomorrow": {"b": 1, "a": 1.50}})
    for script in ("length", "refusal", "gzip", "br"):
        case(f"{way}, {script}", ask, f"Tell me about {place}. [[{script}]]", stream)
    for status in (400, 404, 422, 429, 500, 503, 529):
        case(f"{way}, status {status}", ask, f"Fail, {way}. [[status {status}]]", stream)

raw()
for number in range(1, 9):
    case(f"cut after {number}", events, f"Why is the sky blue at noon? [[cut {number}]]")
for script in ("ended 4", "failed 5"):
    case(script, events, f"What is the speed of sound? [[{script}]]")
case("events", events, "Who invented the wheel?")
case("first 529, then an answer", lambda: message(client.with_options(max_retries=2).messages.create(
    model=MODEL, max_tokens=64, messages=user("Who painted the Night Watch? [[flaky 529]]"))))
case("thread", thread)
case("asynchronous", lambda: asyncio.run(asynchronous()))
case("count_tokens", lambda: client.messages.count_tokens(model=MODEL, messages=user("How many?")).input_tokens)
