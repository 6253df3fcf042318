"""Google's own library: Gemini."""

import asyncio
import base64

from google import genai
from google.genai import types
from pydantic import BaseModel

from case import KEY, PIXEL, ROOT, SCHEMA, TOOL, case, streamed, tell, told

MODEL = "gemini-2.5-flash"
# Of this name, since the library closes a client that nobody holds.
client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=ROOT))
WEATHER = types.FunctionDeclaration(name="get_weather", description="Tells the weather.", parameters_json_schema=TOOL)
TOOLS = [types.Tool(function_declarations=[WEATHER])]


class Fruit(BaseModel):
    name: str
    weight: int


def turn(role, *parts):
    return types.Content(role=role, parts=[types.Part(text=part) if isinstance(part, str) else part for part in parts])


def folded(answers):
    """What the answers of a stream say together; a plain answer is the only one."""
    last, said, calls = None, "", []
    for last in answers:
        parts = [part for one in last.candidates or [] for part in (one.content and one.content.parts) or []]
        said += "".join(part.text for part in parts if part.text and not part.thought)
        calls += [[part.function_call.name, part.function_call.args] for part in parts if part.function_call]
    return {
        "id": last.response_id, "model": last.model_version, "text": said, "calls": calls,
        "finish": [one.finish_reason and one.finish_reason.value for one in last.candidates],
        "usage": last.usage_metadata.model_dump(mode="json", exclude_none=True),
    }


def ask(contents, stream=False, **config):
    # Automatic calling of functions would ask again by itself.
    config = types.GenerateContentConfig(automatic_function_calling={"disable": True}, **config)
    asked = {"model": MODEL, "contents": contents, "config": config}
    if not streamed(stream):
        return folded([client.models.generate_content(**asked)])
    return folded(client.models.generate_content_stream(**asked))


def events(text):
    said, fault = "", None
    try:
        for answer in client.models.generate_content_stream(model=MODEL, contents=text):
            said += answer.text or ""
    except Exception as error:  # noqa: BLE001
        fault = type(error).__name__
    return {"text": said, "broken": fault is not None}


def tool_loop(stream):
    contents, turns = [turn("user", "How will the weather be in Lund? [[loop 2]]")], []
    for _ in range(5):
        said = ask(contents, stream, tools=TOOLS)
        turns.append(said)
        if not said["calls"]:
            return turns
        contents.append(turn("model", *(types.Part.from_function_call(name=name, args=args) for name, args in said["calls"])))
        contents.append(turn("user", *(
            types.Part.from_function_response(name=name, response={"result": f"snow {stream} {len(turns)}"}) for name, _ in said["calls"])))
    return turns


async def asynchronous():
    stream = await client.aio.models.generate_content_stream(model=MODEL, contents="Why do horses stand?")
    return "".join([answer.text or "" async for answer in stream])


def raw():
    answer = client.models.generate_content(model=MODEL, contents="Which river flows through Bonn and where does it rise?")
    tell("headers, plain", {"headers": told(answer.sdk_http_response.headers), "kept": True})


for stream, way in ((False, "plain"), (True, "streamed")):
    place = "the sea" if stream else "the Alps"
    case(f"{way}", ask, f"How was {place} made?", stream)
    case(f"{way}, instructions", ask, f"Describe {place} in a poem.", stream, system_instruction="Answer like a pirate.")
    case(f"{way}, other instructions", ask, f"Describe {place} in a poem.", stream, system_instruction="Answer like a nun.")
    case(f"{way}, settings", ask, f"Which animals live in {place}?", stream, temperature=0.2, top_p=0.9, top_k=5,
         max_output_tokens=100, stop_sequences=["END"])
    for company in ("Acme", "Contoso"):
        case(f"{way}, turns about {company}", ask, [
            turn("user", f"Who founded {company}?"), turn("model", "A salesman."), turn("user", f"How old is he, {way}?")], stream)
    case(f"{way}, white space", ask, f"Write a function, {way}. [[code]]", stream)
    if not genai.__version__.startswith("2."):  # which ends lines there itself
        case(f"{way}, other ends of lines", ask, f"Write a song, {way}. [[lines]]", stream)
    case(f"{way}, tool loop", tool_loop, stream)
    case(f"{way}, two calls", ask, f"Compare the weather of two towns, {way}. [[twice]]", stream, tools=TOOLS)
    case(f"{way}, chosen tool", ask, f"Oslo, {way}?", stream, tools=TOOLS, tool_config=types.ToolConfig(
        function_calling_config=types.FunctionCallingConfig(mode="ANY", allowed_function_names=["get_weather"])))
    case(f"{way}, schema", ask, f"Name a fruit of {place}.", stream, response_mime_type="application/json", response_json_schema=SCHEMA)
    case(f"{way}, schema of a class", ask, f"Weigh a fruit of {place}.", stream, response_mime_type="application/json", response_schema=Fruit)
    case(f"{way}, image", ask, [turn("user", types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png"),
                                     f"What is on it, {way}?")], stream)
    case(f"{way}, image behind a URL", ask, [turn("user", types.Part.from_uri(
        file_uri="https://example.org/a.png", mime_type="image/png"), f"What is there, {way}?")], stream)
    case(f"{way}, two choices", ask, f"Toss a coin, {way}.", stream, candidate_count=2)
    case(f"{way}, hosted tool", ask, f"What is new in {place}?", stream, tools=[types.Tool(google_search=types.GoogleSearch())])
    for script in ("length", "filter", "refusal", "reasoning", "gzip", "br"):
        case(f"{way}, {script}", ask, f"Tell me about {place}. [[{script}]]", stream)
    for status in (400, 404, 429, 500, 503):
        case(f"{way}, status {status}", ask, f"Fail, {way}. [[status {status}]]", stream)

raw()
for number in range(1, 9):
    case(f"cut after {number}", events, f"Why is the sky blue at noon? [[cut {number}]]")
for script in ("ended 4", "failed 3"):
    case(script, events, f"What is the speed of sound? [[{script}]]")
case("events", events, "Who invented the wheel?")
case("asynchronous", lambda: asyncio.run(asynchronous()))
