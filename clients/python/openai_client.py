"""OpenAI's own library: chat, Responses, embeddings, completions."""

import asyncio
import concurrent.futures

import openai

from case import KEY, MEDIA, ROOT, SCHEMA, TOOL, case, streamed, tell, told

CHAT = "gpt-4o-mini"
RESPONSES = "gpt-4.1-mini"
client = openai.OpenAI(base_url=f"{ROOT}/v1", api_key=KEY, max_retries=0)
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Tells the weather.", "parameters": TOOL, "strict": True}}]


def user(text):
    return [{"role": "user", "content": text}]


def completion(answer):
    choice = answer.choices[0]
    return {
        "id": answer.id, "created": answer.created, "model": answer.model, "choices": len(answer.choices),
        "text": choice.message.content, "refusal": choice.message.refusal, "finish": choice.finish_reason,
        "role": choice.message.role, "reasoning": getattr(choice.message, "reasoning_content", None),
        "calls": [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls or []],
        "logprobs": choice.logprobs and choice.logprobs.model_dump(mode="json"),
        "usage": answer.usage.model_dump(mode="json", exclude_none=True),
    }


def chat(messages, stream=False, **more):
    """The answer, plain or folded by the library's helper, which checks every chunk."""
    asked = {"model": CHAT, "messages": messages if isinstance(messages, list) else user(messages), **more}
    if not streamed(stream):
        return completion(client.chat.completions.create(**asked))
    with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as events:
        return completion(events.until_done().get_final_completion())


def chunks(text, usage=False, **more):
    """The text of a stream, read chunk by chunk; what came before a fault is told too."""
    said, finish, counted, ids, fault = "", None, None, set(), None
    options = {"stream_options": {"include_usage": True}} if usage else {}
    stream = client.chat.completions.create(model=CHAT, messages=user(text), stream=True, **options, **more)
    try:
        for chunk in stream:
            ids.add(chunk.id)
            counted = chunk.usage or counted
            for choice in chunk.choices:
                said += choice.delta.content or ""
                finish = choice.finish_reason or finish
    except openai.APIError as error:
        fault = getattr(error, "code", None) or "broken"
    except Exception:  # noqa: BLE001
        fault = "broken"
    return {"text": said, "finish": finish, "ids": len(ids), "broken": fault is not None,
            "usage": counted and counted.model_dump(mode="json", exclude_none=True)}


def tool_loop(stream):
    """Until the model is content, as an agent does."""
    messages, turns = user("How will the weather be in Oslo? [[loop 2]]"), []
    for _ in range(5):
        turn = chat(messages, stream=stream, tools=TOOLS, user=f"loop-{stream}")
        turns.append(turn)
        if not turn["calls"]:
            return turns
        messages.append({"role": "assistant", "content": turn["text"], "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": given}} for id, name, given in turn["calls"]
        ]})
        messages += [{"role": "tool", "tool_call_id": id, "content": f"sunny, {len(turns)} degrees"} for id, _, _ in turn["calls"]]
    return turns


def response(answer):
    return {
        "id": answer.id, "created": answer.created_at, "model": answer.model, "status": answer.status, "text": answer.output_text,
        "store": answer.store, "instructions": answer.instructions,
        "output": [item.model_dump(mode="json", exclude_none=True) for item in answer.output],
        "usage": answer.usage.model_dump(mode="json", exclude_none=True),
    }


def respond(given, stream=False, **more):
    asked = {"model": RESPONSES, "input": given, **more}
    if not streamed(stream):
        return response(client.responses.create(**asked))
    with client.responses.stream(**asked) as events:
        for _ in events:
            pass
        return response(events.get_final_response())


def response_events(text):
    said, kinds, fault = "", [], None
    try:
        for event in client.responses.create(model=RESPONSES, input=text, stream=True, store=False):
            said += event.delta if event.type == "response.output_text.delta" else ""
            kinds += [event.type] if event.type not in kinds else []
    except Exception as error:  # noqa: BLE001
        fault = type(error).__name__
    return {"text": said, "broken": fault is not None, "kinds": [] if fault else kinds}


def response_loop(stream):
    items, turns = user("How will the weather be in Bergen? [[loop 2]]"), []
    tools = [{"type": "function", "name": "get_weather", "parameters": TOOL, "strict": True}]
    for _ in range(5):
        turn = respond(items, stream=stream, tools=tools, store=False, user=f"loop-{stream}")
        turns.append(turn)
        made = [item for item in turn["output"] if item["type"] == "function_call"]
        if not made:
            return turns
        items += [{name: item[name] for name in ("type", "call_id", "name", "arguments")} for item in made]
        items += [{"type": "function_call_output", "call_id": item["call_id"], "output": "rain"} for item in made]
    return turns


def hundred():
    """Equal streams at once."""
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        said = list(pool.map(lambda _: chunks("How many moons has Jupiter? [[silent 300]]", usage=True), range(100)))
    return {"different": len({str(one) for one in said}), "one": said[0]}


def retried():
    patient = client.with_options(max_retries=2)
    return completion(patient.chat.completions.create(model=CHAT, messages=user("Who painted the Night Watch? [[flaky 429]]")))


def hang_up():
    """Leaves after the first chunk of text."""
    stream = client.chat.completions.create(
        model=CHAT, messages=user("Who discovered the circulation of the blood? [[silent 300]]"), stream=True)
    next(iter(stream))
    stream.close()
    return "left"


async def asynchronous():
    async with openai.AsyncOpenAI(base_url=f"{ROOT}/v1", api_key=KEY, max_retries=0) as apart:
        stream = await apart.chat.completions.create(model=CHAT, messages=user("Why do cats purr?"), stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])


def raw(stream):
    """What the headers say."""
    asked = {"model": CHAT, "messages": user(f"Which river flows through {'Paris' if stream else 'Vienna'} and where does it rise?")}
    answer = client.chat.completions.with_raw_response.create(**asked, stream=stream)
    parsed = answer.parse()
    if stream:
        list(parsed)
    tell(f"headers, {'streamed' if stream else 'plain'}", {"headers": told(answer.headers), "kept": True})


for stream, way in ((False, "plain"), (True, "streamed")):
    place = "the sea" if stream else "the Alps"
    case(f"chat, {way}", chat, f"How was {place} made?", stream)
    case(f"chat, {way}, instructions", chat, [
        {"role": "system", "content": "Answer like a pirate."}, {"role": "user", "content": f"Describe {place} in a poem."}], stream)
    case(f"chat, {way}, settings", chat, f"Which animals live in {place}?", stream, temperature=0.2, top_p=0.9, max_tokens=100, stop=["END"])
    case(f"chat, {way}, several turns", chat, [
        *user("Who founded Acme?"), {"role": "assistant", "content": "Wile E. Coyote."}, *user(f"How old is he, {way}?")], stream)
    case(f"chat, {way}, other turns", chat, [
        *user("Who founded Contoso?"), {"role": "assistant", "content": "A salesman."}, *user(f"How old is he, {way}?")], stream)
    case(f"chat, {way}, white space", chat, f"Write a function, {way}. [[code]]", stream)
    case(f"chat, {way}, other ends of lines", chat, f"Write a song, {way}. [[lines]]", stream)
    case(f"chat, {way}, tool loop", tool_loop, stream)
    case(f"chat, {way}, two calls", chat, f"Compare the weather of two towns, {way}. [[twice]]", stream, tools=TOOLS)
    case(f"chat, {way}, chosen tool", chat, f"Oslo, {way}?", stream, tools=TOOLS, tool_choice={"type": "function", "function": {"name": "get_weather"}})
    case(f"chat, {way}, schema", chat, f"Name a fruit of {place}.", stream, response_format={
        "type": "json_schema", "json_schema": {"name": "fruit", "schema": SCHEMA, "strict": True}})
    case(f"chat, {way}, image", chat, [{"role": "user", "content": [
        {"type": "text", "text": f"What is on it, {way}?"}, {"type": "image_url", "image_url": {"url": MEDIA}}]}], stream)
    case(f"chat, {way}, image behind a URL", chat, [{"role": "user", "content": [
        {"type": "text", "text": f"What is there, {way}?"}, {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}], stream)
    case(f"chat, {way}, two choices", chat, f"Toss a coin, {way}.", stream, n=2)
    case(f"chat, {way}, stored there", chat, f"Keep this, {way}.", stream, store=True)
    case(f"chat, {way}, unknown member", chat, f"What is the tallest tower of {place}?", stream, extra_body={"tomorrow": {"b": 1, "a": 1.50}})
    for tools in (None, TOOLS, [*TOOLS, {"type": "function", "function": {"name": "sing", "parameters": {}}}]):
        for choice in ("auto", "none") if tools else (None,):
            given = {"tools": tools, "tool_choice": choice} if tools else {}
            case(f"chat, {way}, {len(tools or ())} tools, {choice}", chat, f"Who is hungry in {place}?", stream, **given)
    for more in ({}, {"temperature": 0.1}, {"temperature": 0.2}, {"max_tokens": 9}, {"seed": 1}, {"seed": 2}, {"response_format": {"type": "text"}}):
        case(f"chat, {way}, with {more}", chat, f"Who is tired in {place}?", stream, **more)
    for script in ("length", "filter", "refusal", "reasoning", "gzip", "br"):
        # The helper throws at an answer that was cut, so that one is read as chunks.
        read = chunks if stream and script in ("length", "filter") else chat
        case(f"chat, {way}, {script}", read, f"Tell me about {place}. [[{script}]]", **({} if read is chunks else {"stream": stream}))
    for status in (400, 404, 422, 429, 500, 503):
        case(f"chat, {way}, status {status}", chat, f"Fail, {way}. [[status {status}]]", stream)
    for kept in (False, None):
        given = {} if kept is None else {"store": kept}
        case(f"responses, {way}, store {kept}", respond, f"How is glass made, {way}?", stream, **given)
    case(f"responses, {way}, instructions", respond, f"Greet {place}.", stream, instructions="Answer in Latin.", store=False)
    for instructions in ("Answer in Greek.", "Answer in Norse."):
        case(f"responses, {way}, {instructions}", respond, f"Name a god of {place}.", stream, instructions=instructions, store=False)
    case(f"responses, {way}, several turns", respond, [
        *user("Who wrote Faust?"), {"role": "assistant", "content": "Goethe."}, *user(f"When, {way}?")], stream, store=False)
    case(f"responses, {way}, other turns", respond, [
        *user("Who wrote Emma?"), {"role": "assistant", "content": "Austen."}, *user(f"When, {way}?")], stream, store=False)
    case(f"responses, {way}, white space", respond, f"Write a program, {way}. [[code]]", stream, store=False)
    case(f"responses, {way}, other ends of lines", respond, f"Write a verse, {way}. [[lines]]", stream, store=False)
    case(f"responses, {way}, tool loop", response_loop, stream)
    case(f"responses, {way}, schema", respond, f"Name a tree of {place}.", stream, store=False, text={
        "format": {"type": "json_schema", "name": "tree", "schema": SCHEMA, "strict": True}})
    case(f"responses, {way}, hosted tool", respond, f"What is new in {place}?", stream, tools=[{"type": "web_search"}])
    case(f"responses, {way}, goes on", respond, f"And then, {way}?", stream, previous_response_id="resp_before")
    for script in ("length", "filter", "refusal", "reasoning", "gzip", "br"):
        case(f"responses, {way}, {script}", respond, f"Speak of {place}. [[{script}]]", stream, store=False)
    for status in (400, 404, 429, 500):
        case(f"responses, {way}, status {status}", respond, f"Fail, {way}. [[status {status}]]", stream, store=False)
    raw(stream)

for number in range(1, 9):
    case(f"chat, cut after {number}", chunks, f"Why is the sky blue at noon? [[cut {number}]]")
    case(f"responses, cut after {number}", response_events, f"Why is the grass green? [[cut {number}]]")
for script in ("ended 4", "unfinished", "failed 3"):
    case(f"chat, {script}", chunks, f"What is the speed of sound? [[{script}]]")
case("responses, failed 3", response_events, "What is the speed of light? [[failed 3]]")
case("chat, 200 with an error", chunks, "Who was the first on Mars? [[failed]]")
case("chat, chunks without usage", chunks, "When was bread invented?")
case("chat, chunks with usage", chunks, "Which metal melts first?", usage=True)
case("responses, events", response_events, "Who invented the wheel?")
case("chat, first 429, then an answer", retried)
case("chat, hang up", hang_up)
case("chat, asynchronous", lambda: asyncio.run(asynchronous()))
case("chat, a hundred at once", hundred)
case("embeddings", lambda: client.embeddings.create(model="text-embedding-3-small", input=["a", "b"]).model_dump(mode="json"))
case("completions", lambda: client.completions.create(model="gpt-3.5-turbo-instruct", prompt="Once").model_dump(mode="json"))
