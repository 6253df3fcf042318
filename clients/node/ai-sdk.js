// Vercel's AI SDK, with its providers for OpenAI (chat and Responses), OpenAI-compatible servers, and Anthropic.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, embedMany, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

import { KEY, ROOT, SCHEMA, TOOL, run, streamed } from "./case.js";

const openai = createOpenAI({ baseURL: `${ROOT}/v1`, apiKey: KEY });
const compatible = createOpenAICompatible({ name: "deja", baseURL: `${ROOT}/v1`, apiKey: KEY, includeUsage: true });
const anthropic = createAnthropic({ baseURL: `${ROOT}/v1`, apiKey: KEY });
const MODELS = {
  responses: openai("gpt-4.1-mini"),
  chat: openai.chat("gpt-4o-mini"),
  compatible: compatible("gpt-4.1"),
  anthropic: anthropic("claude-sonnet-4-6"),
};
const tools = {
  get_weather: tool({
    description: "Tells the weather.", inputSchema: jsonSchema(TOOL), execute: async ({ city }) => `sunny in ${city}`,
  }),
};

async function ask(model, prompt, stream, more = {}) {
  const asked = { model: MODELS[model], prompt, maxRetries: 0, ...more };
  let fault;
  const answer = streamed(stream) ? streamText({ ...asked, onError: ({ error }) => { fault = error; } }) : await generateText(asked);
  if (streamed(stream)) {
    await answer.consumeStream({ onError: (error) => { fault ??= error; } });
    if (fault) throw fault;
  }
  const steps = await answer.steps;
  const { inputTokens, outputTokens } = await answer.usage;
  return {
    text: await answer.text, finish: await answer.finishReason, usage: [inputTokens, outputTokens],
    steps: steps.map((step) => step.toolCalls.map((call) => [call.toolCallId, call.toolName, call.input])),
  };
}

for (const model of Object.keys(MODELS)) {
  for (const stream of [false, true]) {
    const way = `${model}, ${stream ? "streamed" : "plain"}`;
    const place = stream ? "the sea" : "the Alps";
    await run(way, () => ask(model, `How was ${place} made?`, stream));
    await run(`${way}, instructions`, () => ask(model, `Describe ${place} in a poem.`, stream, { system: "Answer like a pirate." }));
    await run(`${way}, several turns`, () => ask(model, [
      { role: "user", content: "Who founded Acme?" }, { role: "assistant", content: "Wile." },
      { role: "user", content: `How old is he, ${way}?` }], stream));
    await run(`${way}, white space`, () => ask(model, `Write a function, ${way}. [[code]]`, stream));
    await run(`${way}, tool loop`, () => ask(model, `How will it be in Oslo, ${way}? [[loop 2]]`, stream, { tools, stopWhen: stepCountIs(5) }));
    await run(`${way}, schema`, () => ask(model, `Name a fruit of ${place}.`, stream, { output: Output.object({ schema: jsonSchema(SCHEMA) }) }));
    await run(`${way}, gzip`, () => ask(model, `Tell me about ${place}. [[gzip]]`, stream));
    for (const status of [400, 429, 500]) {
      await run(`${way}, status ${status}`, () => ask(model, `Fail, ${way}. [[status ${status}]]`, stream));
    }
  }
  for (const cut of [1, 3, 5, 7]) {
    // Which fault it makes of a cut depends on what says that it is one: the connection, or an event as well.
    const asked = () => ask(model, `Why is it blue? [[cut ${cut}]]`, streamed(true));
    await run(`${model}, cut after ${cut}`, () => asked().then(() => "whole", () => "broken"));
  }
}
await run("embeddings", async () => (await embedMany({
  model: openai.embedding("text-embedding-3-small"), values: ["a", "b"], maxRetries: 0 })).embeddings);
