// A fake LLM provider on a real socket: OpenAI's chat completions, answered at once, or when a test says so.
import { createServer } from "node:http";

export async function startProvider() {
  const calls = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => { body += chunk; });
    request.on("end", () => {
      const { model, messages, response_format: format } = JSON.parse(body);
      const prompt = messages.at(-1).content;
      const content = format ? JSON.stringify(answerTo(prompt)) : answerTo(prompt);
      const answer = () => {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({
          id: "fake", object: "chat.completion", created: 1785500000, model,
          choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content } }],
          usage: { prompt_tokens: 14 + prompt.length, completion_tokens: 120, total_tokens: 134 + prompt.length },
        }));
      };
      const call = { model, prompt, authorization: request.headers.authorization, answer, closed: false };
      response.on("close", () => { call.closed = true; });
      calls.push(call);
      // One that is slow waits for the test.
      if (!prompt.endsWith("Slowly.")) answer();
    });
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  return { url: `http://127.0.0.1:${server.address().port}`, calls, stop: () => server.close() };
}

export const answerTo = (prompt) => `A model would now say a few helpful sentences about this: ${prompt}`;
