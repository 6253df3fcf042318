// Anthropic's own library.
import Anthropic from "@anthropic-ai/sdk";

import { KEY, ROOT, SCHEMA, TOOL, run, streamed, tell } from "./case.js";

const client = new Anthropic({ baseURL: ROOT, apiKey: KEY, maxRetries: 0 });
const TOOLS = [{ name: "get_weather", input_schema: TOOL }];
const user = (content) => [{ role: "user", content }];

function message(answer) {
  const { id, model, role, stop_reason: stop, content, usage } = answer;
  return {
    id, model, role, stop, content,
    usage: [usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens],
  };
}

async function ask(messages, stream, more = {}) {
  const asked = {
    model: "claude-sonnet-4-6", max_tokens: 512, messages: typeof messages === "string" ? user(messages) : messages, ...more,
  };
  if (!streamed(stream)) return message(await client.messages.create(asked));
  return message(await client.messages.stream(asked).finalMessage());
}

async function events(text) {
  const told = { text: "", broken: false };
  try {
    const stream = await client.messages.create({ model: "claude-sonnet-4-6", max_tokens: 64, messages: user(text), stream: true });
    for await (const event of stream) told.text += event.delta?.text ?? "";
  } catch (fault) {
    if (fault instanceof ReferenceError) throw fault;
    // How much of what came before a broken connection is handed out depends on Node's buffers.
    return { text: null, broken: true };
  }
  return told;
}

async function loop(stream) {
  const messages = user("How will the weather be in Lund? [[loop 2]]");
  const turns = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const answer = await ask(messages, stream, { tools: TOOLS, metadata: { user_id: `loop-${stream}` } });
    turns.push(answer);
    const calls = answer.content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) break;
    messages.push({ role: "assistant", content: calls.map(({ type, id, name, input }) => ({ type, id, name, input })) });
    messages.push({ role: "user", content: calls.map(({ id }) => (
      { type: "tool_result", tool_use_id: id, content: `snow ${turn}` })) });
  }
  return turns;
}

for (const stream of [false, true]) {
  const way = stream ? "streamed" : "plain";
  const place = stream ? "the sea" : "the Alps";
  await run(way, () => ask(`How was ${place} made?`, stream));
  await run(`${way}, instructions`, () => ask(`Describe ${place} in a poem.`, stream, { system: "Answer like a pirate." }));
  await run(`${way}, several turns`, () => ask([
    ...user("Who founded Acme?"), { role: "assistant", content: "Wile." }, ...user(`How old is he, ${way}?`)], stream));
  await run(`${way}, white space`, () => ask(`Write a function, ${way}. [[code]]`, stream));
  await run(`${way}, other ends of lines`, () => ask(`Write a song, ${way}. [[lines]]`, stream));
  await run(`${way}, tool loop`, () => loop(stream));
  await run(`${way}, two calls`, () => ask(`Compare the weather of two towns, ${way}. [[twice]]`, stream, { tools: TOOLS }));
  await run(`${way}, schema`, () => ask(`Name a fruit of ${place}.`, stream, {
    output_config: { format: { type: "json_schema", schema: SCHEMA } } }));
  await run(`${way}, thinking`, () => ask(`Think of ${place}. [[reasoning]]`, stream, { thinking: { type: "adaptive" } }));
  for (const script of ["length", "refusal", "gzip", "br"]) {
    await run(`${way}, ${script}`, () => ask(`Tell me about ${place}. [[${script}]]`, stream));
  }
  for (const status of [400, 404, 429, 500, 529]) {
    await run(`${way}, status ${status}`, () => ask(`Fail, ${way}. [[status ${status}]]`, stream));
  }
}
for (let cut = 1; cut < 9; cut += 1) await run(`cut after ${cut}`, () => events(`Why is the sky blue at noon? [[cut ${cut}]]`));
for (const script of ["ended 4", "failed 5"]) await run(script, () => events(`What is the speed of sound? [[${script}]]`));
await run("events", () => events("Who invented the wheel?"));
await run("count_tokens", () => client.messages.countTokens({ model: "claude-sonnet-4-6", messages: user("How many?") }));
const { response: raw } = await client.messages.create(
  { model: "claude-sonnet-4-6", max_tokens: 64, messages: user("Which river flows through Rome?") }).withResponse();
tell("headers", { headers: Object.fromEntries(raw.headers) });
