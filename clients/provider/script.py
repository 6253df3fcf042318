"""What is asked, in terms that all formats share, and what is said to it."""

import dataclasses
import hashlib
import json
import re

DIRECTIVE = re.compile(r"\[\[(\w+)(?: (\w+))?\]\]")
QUOTED = re.compile(r"'([^']+)'")

# Whatever a replay could lose: blanks at both ends, tabs, empty lines, \r\n, characters of several bytes, JSON, SSE.
CODE = '  \tdef f(x):\r\n\n\n\treturn "\\u00e9\\n" # déjà 👩‍👩‍👧 語\ndata: [DONE]\n\nevent: x\n{"a": [1, 2]}\n   '


@dataclasses.dataclass
class Asked:
    """A request. `results` counts the results of tools in it; `forced` says that a tool must be called."""

    model: str
    text: str
    stream: bool
    seed: str
    tools: list = dataclasses.field(default_factory=list)
    results: int = 0
    answering: bool = False
    forced: str | bool = False
    schema: dict | None = None
    usage: bool = False
    choices: int = 1
    logprobs: bool = False
    # Not to be kept, because of what is asked.
    bypass: bool = False
    body: dict = dataclasses.field(default_factory=dict)

    def id(self, prefix):
        return prefix + hashlib.sha256((prefix + self.seed).encode()).hexdigest()[:24]

    @property
    def directive(self):
        found = DIRECTIVE.findall(self.text)
        return found[-1] if found else ("", "")


@dataclasses.dataclass
class Said:
    """An answer: text, or calls of tools as (name, arguments)."""

    text: str = ""
    calls: list = dataclasses.field(default_factory=list)
    finish: str = "stop"
    reasoning: str = ""

    @property
    def kept(self):
        return self.finish == "stop" and not self.calls and bool(self.text)

    @property
    def tokens(self):
        return 3 + len(self.text) // 4 + 9 * len(self.calls)

    def pieces(self, text=None):
        text = self.text if text is None else text
        return [text[i : i + 9] for i in range(0, len(text), 9)]


def say(asked):
    name, argument = asked.directive
    if name == "loop" and asked.results < int(argument):
        return Said(calls=[call(asked, asked.tools[0], asked.results)], finish="tool")
    if name == "twice" and not asked.results:
        return Said(calls=[call(asked, asked.tools[0], number) for number in (0, 1)], finish="tool")
    if name in ("length", "filter", "refusal"):
        return Said("I began to say", finish=name)
    if name == "reasoning":
        return Said("Forty-two.", reasoning="Six times nine, in base thirteen.")
    if name == "code":
        return Said(CODE)
    if name == "lines":
        return Said("one\u2028two\u2029three\u0085four\x0bfive")
    if asked.tools and not asked.answering:
        named = [tool for tool in asked.tools if tool[0] in (asked.forced, *re.findall(r"\w+", asked.text))]
        if named or asked.forced or name == "tool" or wants_tool(asked):
            return Said(calls=[call(asked, (named or asked.tools)[0], 0)], finish="tool")
    if asked.schema is not None:
        # JSON without a schema: the keys that the text names.
        schema = asked.schema or {"properties": {name: {"type": "string"} for name in QUOTED.findall(asked.text)}}
        return Said(json.dumps(value(schema, schema)))
    said = f"After {asked.results} results" if asked.results else "Without a tool"
    return Said(f"{said}, to {len(asked.text)} characters: {asked.text[-200:][::-1]}")


def wants_tool(asked):
    """The questions of langchain-tests that a model answers with a tool without being told its name."""
    return "the tool" in asked.text or any("weather" in name and "weather" in asked.text for name, _ in asked.tools)


def call(asked, tool, number):
    """The tool's name and arguments; what the text quotes is one of them."""
    name, schema = tool
    given = value(schema, schema, number)
    for quoted in QUOTED.findall(asked.text)[:1]:
        given |= {next((key for key, old in given.items() if isinstance(old, str)), "quoted"): quoted}
    return name, given


def value(schema, root, number=0):
    """Something that fits the JSON schema."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return value(schema[several][0], root, number)
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: value(of, root, number) for name, of in schema.get("properties", {}).items()}
    if kind == "array":
        return [value(schema.get("items", {"type": "string"}), root, number)]
    return {"integer": 3 + number, "number": 3.5 + number, "boolean": True, "null": None}.get(kind, f"text {number}")
