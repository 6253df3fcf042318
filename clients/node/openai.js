// OpenAI's own library: chat, Responses, embeddings. Its helpers check every chunk of a stream.
import OpenAI from "openai";

import { KEY, ROOT, SCHEMA, TOOL, run, streamed, tell } from "./case.js";

const client = new OpenAI({ baseURL: `${ROOT}/v1`, apiKey: KEY, maxRetries: 0 });
const TOOLS = [{ type: "function", function: { name: "get_weather", parameters: TOOL, strict: true } }];
const user = (text) => [{ role: "user", content: text }];

function completion(answer) {
  const [choice] = answer.choices;
  return {
    id: answer.id, created: answer.created, model: answer.model, text: choice.message.content, role: choice.message.role,
    finish: choice.finish_reason, refusal: choice.message.refusal ?? null, usage: answer.usage,
    calls: (choice.message.tool_calls ?? []).map((call) => [call.id, call.function.name, call.function.arguments]),
  };
}

async function chat(messages, stream, more = {}) {
  const asked = { model: "gpt-4o-mini", messages: typeof messages === "string" ? user(messages) : messages, ...more };
  if (!streamed(stream)) return completion(await client.chat.completions.create(asked));
  const events = client.chat.completions.stream({ ...asked, stream_options: { include_usage: true } });
  return completion(await events.finalChatCompletion());
}

async function chunks(text, usage = false) {
  const told = { text: "", finish: null, usage: null, broken: false };
  try {
    const stream = await client.chat.completions.create({
      model: "gpt-4o-mini", messages: user(text), stream: true, ...(usage ? { stream_options: { include_usage: true } } : {}),
    });
    for await (const chunk of stream) {
      told.text += chunk.choices[0]?.delta.content ?? "";
      told.finish = chunk.choices[0]?.finish_reason ?? told.finish;
      told.usage = chunk.usage ?? told.usage;
    }
  } catch (fault) {
    if (fault instanceof ReferenceError) throw fault;
    told.broken = true;
    // How much of what came before a broken connection is handed out depends on Node's buffers.
    told.text = null;
  }
  return told;
}

async function loop(stream) {
  const messages = user("How will the weather be in Oslo? [[loop 2]]");
  const turns = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const answer = await chat(messages, stream, { tools: TOOLS, user: `loop-${stream}` });
    turns.push(answer);
    if (answer.calls.length === 0) break;
    messages.push({ role: "assistant", content: null, tool_calls: answer.calls.map(([id, name, given]) => (
      { id, type: "function", function: { name, arguments: given } })) });
    messages.push(...answer.calls.map(([id]) => ({ role: "tool", tool_call_id: id, content: `sunny ${turn}` })));
  }
  return turns;
}

function response(answer) {
  const { id, created_at: created, model, status, store, usage, output_text: text } = answer;
  return { id, created, model, status, store, usage, text, kinds: answer.output.map((item) => item.type) };
}

async function respond(input, stream, more = {}) {
  const asked = { model: "gpt-4.1-mini", input, ...more };
  if (!streamed(stream)) return response(await client.responses.create(asked));
  return response(await client.responses.stream(asked).finalResponse());
}

async function respondLoop(stream) {
  const input = user("How will the weather be in Bergen? [[loop 2]]");
  const tools = [{ type: "function", name: "get_weather", parameters: TOOL, strict: true }];
  const turns = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const asked = { model: "gpt-4.1-mini", input, tools, store: false, user: `loop-${stream}` };
    const answer = streamed(stream) ? await client.responses.stream(asked).finalResponse() : await client.responses.create(asked);
    const calls = answer.output.filter((item) => item.type === "function_call");
    turns.push({ ...response(answer), calls: calls.map((call) => [call.call_id, call.name, call.arguments]) });
    if (calls.length === 0) break;
    input.push(...calls.map(({ type, call_id, name, arguments: given }) => ({ type, call_id, name, arguments: given })));
    input.push(...calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: `rain ${turn}` })));
  }
  return turns;
}

async function responseEvents(text) {
  const told = { text: "", broken: false };
  try {
    const stream = await client.responses.create({ model: "gpt-4.1-mini", input: text, stream: true, store: false });
    for await (const event of stream) told.text += event.type === "response.output_text.delta" ? event.delta : "";
  } catch (fault) {
    if (fault instanceof ReferenceError) throw fault;
    // How much of what came before a broken connection is handed out depends on Node's buffers.
    return { text: null, broken: true };
  }
  return told;
}

for (const stream of [false, true]) {
  const way = stream ? "streamed" : "plain";
  const place = stream ? "the sea" : "the Alps";
  await run(`chat, ${way}`, () => chat(`How was ${place} made?`, stream));
  await run(`chat, ${way}, instructions`, () => chat([
    { role: "system", content: "Answer like a pirate." }, { role: "user", content: `Describe ${place} in a poem.` }], stream));
  await run(`chat, ${way}, several turns`, () => chat([
    ...user("Who founded Acme?"), { role: "assistant", content: "Wile." }, ...user(`How old is he, ${way}?`)], stream));
  await run(`chat, ${way}, white space`, () => chat(`Write a function, ${way}. [[code]]`, stream));
  await run(`chat, ${way}, other ends of lines`, () => chat(`Write a song, ${way}. [[lines]]`, stream));
  await run(`chat, ${way}, tool loop`, () => loop(stream));
  await run(`chat, ${way}, two calls`, () => chat(`Compare the weather of two towns, ${way}. [[twice]]`, stream, { tools: TOOLS }));
  await run(`chat, ${way}, schema`, () => chat(`Name a fruit of ${place}.`, stream, {
    response_format: { type: "json_schema", json_schema: { name: "fruit", schema: SCHEMA, strict: true } } }));
  for (const script of ["refusal", "gzip", "br"]) {
    await run(`chat, ${way}, ${script}`, () => chat(`Tell me about ${place}. [[${script}]]`, stream));
  }
  for (const status of [400, 404, 422, 429, 500, 503]) {
    await run(`chat, ${way}, status ${status}`, () => chat(`Fail, ${way}. [[status ${status}]]`, stream));
  }
  await run(`responses, ${way}`, () => respond(`How is glass made, ${way}?`, stream));
  await run(`responses, ${way}, not stored`, () => respond(`How is steel made, ${way}?`, stream, { store: false }));
  await run(`responses, ${way}, instructions`, () => respond(`Greet ${place}.`, stream, { instructions: "In Latin.", store: false }));
  await run(`responses, ${way}, white space`, () => respond(`Write a program, ${way}. [[code]]`, stream, { store: false }));
  await run(`responses, ${way}, tool loop`, () => respondLoop(stream));
  for (const script of ["length", "refusal", "gzip", "br"]) {
    await run(`responses, ${way}, ${script}`, () => respond(`Speak of ${place}. [[${script}]]`, stream, { store: false }));
  }
  for (const status of [400, 429, 500]) {
    await run(`responses, ${way}, status ${status}`, () => respond(`Fail, ${way}. [[status ${status}]]`, stream, { store: false }));
  }
}
for (let cut = 1; cut < 9; cut += 1) {
  await run(`chat, cut after ${cut}`, () => chunks(`Why is the sky blue at noon? [[cut ${cut}]]`));
  await run(`responses, cut after ${cut}`, () => responseEvents(`Why is the grass green? [[cut ${cut}]]`));
}
for (const script of ["ended 4", "unfinished", "failed 3"]) {
  await run(`chat, ${script}`, () => chunks(`What is the speed of sound? [[${script}]]`));
}
await run("responses, events", () => responseEvents("Who invented the wheel?"));
await run("chat, chunks without usage", () => chunks("When was bread invented?"));
await run("chat, chunks with usage", () => chunks("Which metal melts first?", true));
await run("chat, first 429, then an answer", async () => completion(await client.chat.completions.create(
  { model: "gpt-4o-mini", messages: user("Who painted the Night Watch? [[flaky 429]]") }, { maxRetries: 2 })));
await run("embeddings", async () => (await client.embeddings.create({ model: "text-embedding-3-small", input: ["a", "b"] })).data);
const { response: raw } = await client.chat.completions.create(
  { model: "gpt-4o-mini", messages: user("Which river flows through Vienna?") }).withResponse();
tell("headers", { headers: Object.fromEntries(raw.headers) });
