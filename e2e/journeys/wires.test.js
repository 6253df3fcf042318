// What an owner does for applications that speak to OpenAI: connect, settings and what they do, a chat in the playground.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "../support/browser.js";
import { until } from "../support/deja.js";
import { makeKey, makeOwner, makeProject, press, signIn } from "../support/steps.js";
import { browser, deja, provider } from "../support/world.js";

const ASK = "How do I reset my password?";
const AGAIN = "How can I reset my password?";
const ask = (content, more = {}) => ({ messages: [{ role: "user", content }], ...more });

test("the overview gives a key and snippets that hold the address that the browser came by", async () => {
  const { page, context, mistakes } = await open(browser, { permissions: ["clipboard-read", "clipboard-write"] });
  await makeOwner(page, deja);
  // By another name than the settings know.
  const elsewhere = deja.url.replace("127.0.0.1", "localhost");
  await signIn(page, { url: elsewhere });
  const slug = await makeProject(page, "Connect");
  await page.getByLabel("Name").fill("first");
  await page.getByRole("button", { name: "Create an API key" }).click();
  const key = (await page.locator("dialog #key").textContent()).trim();
  await page.getByRole("button", { name: "I have copied it" }).click();
  assert.equal(await page.locator("#export").textContent(), `export DEJA_KEY=${key}`);
  const base = `${elsewhere}/p/${slug}`;
  assert.equal(await page.locator("#base-url").textContent(), base);
  await page.getByRole("button", { name: "Copy OpenAI, Python" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(copied.includes(`OpenAI(base_url="${base}/v1"`), copied);
  // One at a time is open.
  await page.getByText("Vercel AI SDK", { exact: true }).click();
  assert.equal(await page.locator("#openai-python").isVisible(), false);
  assert.equal(await page.locator("#ai-sdk").isVisible(), true);
  // A click selects all of it, which needs no script.
  await page.locator("#ai-sdk").click();
  const selected = await page.evaluate(() => getSelection().toString().trim());
  assert.equal(selected, (await page.locator("#ai-sdk").textContent()).trim());
  await page.reload();
  assert.ok(!(await page.content()).includes(key), "a key is shown once");
  assert.deepEqual(mistakes(), []);
  await context.close();
});

test("what settings say holds for the very next request", async () => {
  const { page, context, mistakes } = await open(browser);
  await signIn(page, deja);
  const slug = await makeProject(page, "Settings");
  const key = await makeKey(page, slug, "first");
  const send = (body, headers) => deja.chat(slug, key, body, headers);
  const save = async () => {
    await press(page, "Save these");
    await page.getByRole("status").filter({ hasText: "next request" }).waitFor();
  };
  const settings = `${deja.url}/console/p/${slug}/settings`;

  assert.equal((await send(ask(ASK), { "x-deja-ttl": "3600" })).status, 200);
  await page.goto(settings);
  await page.getByRole("checkbox", { name: /^ttl/ }).uncheck();
  await save();
  const refused = await send(ask(ASK), { "x-deja-ttl": "3600" });
  assert.equal(refused.status, 400);
  assert.match(refused.body.error.message, /x-deja-ttl/i);

  const stored = await send(ask(ASK));
  assert.equal(stored.cache, "hit");
  assert.ok(stored.body.usage.total_tokens > 0);
  await page.getByRole("radio", { name: /^zero/ }).check();
  await save();
  const free = await send(ask(ASK));
  assert.deepEqual([free.cache, free.body.usage.total_tokens], ["hit", 0]);

  // JSON is compared byte for byte, until the project takes that risk.
  const json = { response_format: { type: "json_object" } };
  assert.equal((await send(ask(ASK, json))).cache, "miss");
  assert.deepEqual([(await send(ask(AGAIN, json))).cache, (await send(ask(AGAIN, json))).reason], ["miss", "json"]);
  await page.getByRole("checkbox", { name: /^semantic_json/ }).check();
  await save();
  assert.equal((await send(ask(ASK, json))).cache, "miss");
  const similar = await send(ask(AGAIN, json));
  assert.deepEqual([similar.cache, similar.match, similar.reason], ["hit", "semantic", null]);

  // Nobody waits for the answer any more: it is kept, or the call is given up.
  const hangUp = async (question) => {
    const calls = provider.calls.length;
    const gone = new AbortController();
    const answer = deja.chat(slug, key, ask(`${question} Slowly.`), {}, gone.signal).catch(() => "gone");
    await until("call", () => provider.calls.length > calls);
    gone.abort();
    assert.equal(await answer, "gone");
    return provider.calls.at(-1);
  };
  const kept = await hangUp("What is the capital of France?");
  kept.answer();
  await until("stored answer", async () => (await send(ask("What is the capital of France? Slowly."), { "x-deja-cache": "only" })).status === 200);
  await page.getByRole("radio", { name: /^abort/ }).check();
  await save();
  const given = await hangUp("How high is Mont Blanc?");
  await until("end of the call", () => given.closed);
  assert.equal((await send(ask("How high is Mont Blanc? Slowly."), { "x-deja-cache": "only" })).status, 504);
  assert.deepEqual(mistakes(), []);
  await context.close();
});

test("what is wrong with a setting is said at its field", async () => {
  const { page, context, mistakes } = await open(browser);
  await signIn(page, deja);
  const slug = await makeProject(page, "Fields");
  await page.goto(`${deja.url}/console/p/${slug}/settings`);
  const model = page.getByLabel("Model that decides where the guard is uncertain");
  await model.fill("gpt-4o-mini");
  await page.getByLabel("Its budget a day, USD").fill("much");
  await press(page, "Save");
  await page.locator("#guard_budget-problem", { hasText: "The budget must be a number" }).waitFor();
  const budget = page.getByLabel("Its budget a day, USD");
  assert.equal(await budget.getAttribute("aria-invalid"), "true");
  await page.waitForFunction(() => document.activeElement.id === "guard_budget");
  assert.equal(await model.inputValue(), "gpt-4o-mini", "what was typed stays");
  await budget.fill("0.5");
  await press(page, "Save");
  await page.getByRole("status").filter({ hasText: "Saved" }).waitFor();
  assert.equal(await page.locator("#model-hint strong").count(), 0, "it can be asked");
  await model.fill("nobody-s-model");
  await press(page, "Save");
  await page.locator("#model-hint strong", { hasText: "no provider answers" }).waitFor();
  assert.deepEqual(mistakes(), []);
  await context.close();
});

test("a chat is tried without a script", async () => {
  const { page, context } = await open(browser, { javaScriptEnabled: false });
  await signIn(page, deja);
  const slug = await makeProject(page, "Chat");
  const key = await makeKey(page, slug, "first");
  await page.getByRole("link", { name: "Playground" }).click();
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  const attempt = async (question, button) => {
    await page.getByLabel("Question").fill(question);
    await press(page, button);
    return (await page.locator("#result h2").textContent()).trim();
  };
  await page.getByLabel("Instructions").fill("Be brief.");
  assert.equal(await attempt(ASK, "Look up only"), "Nothing is near");
  const calls = provider.calls.length;
  assert.equal(await attempt(ASK, "Ask as an application does"), "Answered by the provider");
  await page.getByText("The answer is stored").waitFor();
  assert.equal(provider.calls.length, calls + 1);
  assert.equal(await attempt(AGAIN, "Look up only"), "A similar prompt is in the cache");
  // An application that sends the same gets the same.
  const system = { role: "system", content: "Be brief." };
  const sent = await deja.chat(slug, key, { messages: [system, { role: "user", content: AGAIN }] });
  assert.deepEqual([sent.cache, sent.match], ["hit", "semantic"]);
  assert.equal(await attempt(AGAIN, "Ask as an application does"), "Answered from the cache");
  await page.getByText("More of the request").click();
  await page.getByLabel("More members, as JSON").fill('{"seed": 7}');
  assert.equal(await attempt(AGAIN, "Look up only"), "The same request is not in the cache");
  assert.deepEqual(await page.locator("#identity dt").allTextContents(), ["Compared", "sampling"]);
  assert.equal(provider.calls.length, calls + 1);
  await context.close();
});
