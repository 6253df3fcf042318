// From the first start to a revoked key.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "../support/browser.js";
import { until } from "../support/deja.js";
import { makeKey, makeOwner, makeProject, signIn } from "../support/steps.js";
import { browser, deja, provider } from "../support/world.js";

test("first run, key, query, hit, wrong answer, miss, revoked", async () => {
  const { page, context, mistakes } = await open(browser, { permissions: ["clipboard-read", "clipboard-write"] });
  const ask = "How do I reset my password?";
  const again = "How can I reset my password?";

  await makeOwner(page, deja);
  const link = await deja.link();
  const used = await page.request.get(link);
  assert.equal(used.status(), 410, "the link works once");
  const slug = await makeProject(page, "Checkout");
  assert.equal(slug, "checkout");

  const shown = await makeKey(page, slug, "first");
  await page.getByRole("button", { name: "Copy the key" }).click();
  await page.getByText("Copied").first().waitFor();
  const key = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(key, shown);
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.locator("dialog").waitFor({ state: "hidden" });
  await page.reload();
  assert.ok(!(await page.content()).includes(key), "a key is shown once");

  assert.deepEqual((await deja.query(slug, key, { prompt: ask })).cache_hit, false);
  assert.deepEqual((await deja.query(slug, key, { prompt: again })).cache_hit, true);
  await until("hit in Analytics", async () => {
    await page.goto(`${deja.url}/console/p/${slug}/analytics?range=1h`);
    return (await page.locator(".figures > div", { hasText: "Hits" }).locator("dd").first().textContent()) === "1";
  });
  assert.equal(await page.locator("#requests rect.c2").count() > 0, true, "the chart shows the semantic hit");

  await page.getByRole("link", { name: "Playground" }).click();
  await page.getByLabel("Prompt").fill(again);
  await page.getByLabel("Model").fill("gpt-4o-mini");
  await page.getByRole("button", { name: "Look up only" }).click();
  await page.locator("#result .badge", { hasText: "Hit" }).waitFor();
  const nearest = page.locator("tr[data-similarity] .badge").first();
  assert.equal(await nearest.textContent(), "Hit");
  await page.getByLabel("Threshold").fill("1");
  assert.equal(await nearest.textContent(), "Miss", "the slider shows what would become of it");
  assert.equal(await page.locator("#result .badge").textContent(), "Miss", "and so does the verdict");
  assert.match(await page.locator("#result p").first().textContent(), /^At a threshold of 1 a query would ask the provider/);
  await page.getByRole("button", { name: "This was a wrong answer" }).click();
  await page.getByRole("status").filter({ hasText: "The pair is forbidden" }).waitFor();
  await page.getByRole("heading", { name: "Wrong answers" }).waitFor();
  await page.getByRole("cell", { name: again, exact: true }).waitFor();

  const calls = provider.calls.length;
  assert.equal((await deja.query(slug, key, { prompt: again })).cache_hit, false, "a wrong answer is not served again");
  assert.equal(provider.calls.length, calls + 1);
  assert.equal((await deja.query(slug, key, { prompt: ask })).cache_hit, true, "the entry still answers its own prompt");

  // What a person takes back, an application says again.
  await page.getByRole("button", { name: `Undo ${again}` }).click();
  await page.getByRole("status").filter({ hasText: "may meet again" }).waitFor();
  const reworded = await deja.query(slug, key, { prompt: "How could I reset my password?" });
  assert.equal(reworded.cache_hit, true);
  const said = await deja.feedback(slug, key, { request_id: reworded.request, correct: false });
  assert.equal(said.effect, "blocked");
  await page.reload();
  await page.getByRole("button", { name: "Undo How could I reset my password?" }).waitFor();

  await page.getByRole("link", { name: "API Keys" }).click();
  await page.getByRole("link", { name: "Revoke first" }).click();
  await page.getByRole("button", { name: "Revoke key" }).click();
  await page.getByRole("row", { name: /first/ }).getByText("Revoked").waitFor();
  assert.equal((await deja.query(slug, key, { prompt: ask })).status, 401);

  await page.getByRole("link", { name: "Audit log" }).click();
  for (const action of ["project.create", "key.create", "key.revoke"]) {
    await page.getByRole("cell", { name: action }).first().waitFor();
  }
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.deepEqual(mistakes(), []);
  await context.close();
});

test("everything works without JavaScript", async () => {
  const { page, context } = await open(browser, { javaScriptEnabled: false });
  await signIn(page, deja);
  const slug = await makeProject(page, "No script");
  const key = await makeKey(page, slug, "plain");
  assert.equal((await deja.query(slug, key, { prompt: "Is there life without JavaScript?" })).cache_hit, false);
  await page.getByRole("link", { name: "Cache" }).click();
  await page.getByRole("link", { name: "Is there life without JavaScript?" }).waitFor();
  await page.getByRole("link", { name: /Purge/ }).click();
  await page.getByLabel("Type no-script to confirm").fill("no-script");
  await page.getByRole("button", { name: "Delete 1 entry" }).click();
  await page.getByText("1 entry deleted.").waitFor();
  await context.close();
});

test("a form whose page was stopped can be sent again, and a double click sends it once", async () => {
  const { page, context, mistakes } = await open(browser);
  await signIn(page, deja);
  await page.clock.install();
  await page.reload();
  let sent = 0;
  await page.route("**/console/sign-out", (route) => {
    sent += 1;
    return route.abort("aborted");
  });
  const button = page.getByRole("button", { name: "Sign out" });
  await button.click();
  await button.click();
  assert.equal(sent, 1);
  await page.clock.fastForward(6000);
  await button.click();
  assert.equal(sent, 2);
  assert.deepEqual(mistakes(), []);
  await context.close();
});
