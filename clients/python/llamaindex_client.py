"""LlamaIndex: its class for OpenAI's chat completions."""

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAI
from pydantic import BaseModel

from case import KEY, ROOT, case, streamed

llm = OpenAI(model="gpt-4o-mini", api_base=f"{ROOT}/v1", api_key=KEY, max_retries=0)


class Fruit(BaseModel):
    """A fruit."""

    name: str
    weight: int


def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"sunny in {city}"


def complete(text, stream):
    return list(llm.stream_complete(text))[-1].text if streamed(stream) else llm.complete(text).text


def chat(messages, stream):
    messages = [ChatMessage(role=role, content=text) for role, text in messages]
    answer = list(llm.stream_chat(messages))[-1] if streamed(stream) else llm.chat(messages)
    return {"role": answer.message.role.value, "text": answer.message.content}


def tool(text, stream):
    tools = [FunctionTool.from_defaults(get_weather)]
    asked = {"tools": tools, "user_msg": text}
    answer = list(llm.stream_chat_with_tools(**asked))[-1] if streamed(stream) else llm.chat_with_tools(**asked)
    calls = llm.get_tool_calls_from_response(answer)
    return [(call.tool_id, call.tool_name, call.tool_kwargs) for call in calls]


for stream, way in ((False, "plain"), (True, "streamed")):
    place = "the sea" if stream else "the Alps"
    case(f"complete, {way}", complete, f"How was {place} made?", stream)
    case(f"white space, {way}", complete, f"Write a function about {place}. [[code]]", stream)
    case(f"chat, {way}", chat, [("system", "Answer like a pirate."), ("user", f"Describe {place} in a poem.")], stream)
    case(f"several turns, {way}", chat, [("user", "Who founded Acme?"), ("assistant", "Wile."), ("user", f"How old is he, {way}?")], stream)
    case(f"tool, {way}", tool, f"How will it be at {place}? [[tool]]", stream)
    case(f"status 429, {way}", complete, f"Fail at {place}. [[status 429]]", stream)
case("structured", lambda: llm.as_structured_llm(Fruit).complete("Name a fruit of the Alps.").raw.model_dump())
for number in (1, 3, 5):
    case(f"cut after {number}", complete, f"Why is the sky blue? [[cut {number}]]", not streamed(False))
