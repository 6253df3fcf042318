// The log of requests, and what can be undone.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { open } from "../support/browser.js";
import { until } from "../support/deja.js";
import { makeKey, makeOwner, makeProject, press, signIn } from "../support/steps.js";
import { browser, deja } from "../support/world.js";

const ASK = "How do I reset my password?";
const AGAIN = "How can I reset my password?";
const ONCE_MORE = "How can I reset my password now?";
const POLITELY = "Please, how can I reset my password now?";
const OTHER = "How long does shipping take?";

test("filter, live tail, CSV; a wrong answer and deletions are undone", async () => {
  const { page, context, mistakes } = await open(browser, { acceptDownloads: true });
  await makeOwner(page, deja);
  const slug = await makeProject(page, "Log");
  const key = await makeKey(page, slug, "first");
  const at = (place) => `${deja.url}/console/p/${slug}${place}`;
  await page.goto(at("/settings"));
  await page.getByLabel("Texts in the log, days").fill("7");
  await press(page, "Save");
  await page.getByRole("status").filter({ hasText: "Saved." }).waitFor();

  assert.equal((await deja.query(slug, key, { prompt: ASK })).cache_hit, false);
  assert.equal((await deja.query(slug, key, { prompt: AGAIN })).cache_hit, true);
  assert.equal((await deja.query(slug, key, { prompt: OTHER })).cache_hit, false);
  const rows = page.locator("[aria-label=Requests] tbody tr");
  await until("three requests in the log", async () => {
    await page.goto(at("/requests"));
    return (await rows.count()) === 3;
  });
  assert.match(await rows.first().textContent(), new RegExp(OTHER.replace("?", "\\?")), "the latest first");

  await page.getByLabel("Outcome").selectOption({ label: "hit by meaning" });
  await press(page, "Filter");
  assert.equal(await rows.count(), 1);
  assert.match(await rows.first().textContent(), /How can I reset my password\?/);
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "CSV" }).click();
  const lines = (await readFile(await (await downloading).path(), "utf8")).trim().split("\n");
  assert.ok(lines[0].startsWith("time,request,asked,") && lines.length === 2 && lines[1].includes(AGAIN), lines.join("\n"));

  // All of a request, without a mouse.
  await rows.first().locator("summary").focus();
  await page.keyboard.press("Enter");
  assert.equal(await rows.first().locator("pre").textContent(), AGAIN);
  assert.ok(await rows.first().getByText("gpt-4o-mini").last().isVisible());

  // Sorted by a click, with the same filter.
  await page.goto(at("/requests"));
  await page.getByRole("link", { name: "Nearest entry", exact: true }).click();
  await page.getByRole("columnheader", { name: "Nearest entry" }).and(page.locator("[aria-sort=descending]")).waitFor();
  assert.match(await rows.first().textContent(), /How can I reset my password\?/, "the most similar first");
  assert.equal(await rows.count(), 3);
  await page.goto(at("/requests?outcome=semantic_hit"));

  // A page that renews itself: nobody touches it until the new row is there.
  await page.getByRole("link", { name: "Follow live" }).click();
  await page.getByText("Live", { exact: true }).waitFor();
  assert.equal((await deja.query(slug, key, { prompt: ONCE_MORE })).cache_hit, true);
  await page.locator("[aria-label=Requests] th", { hasText: ONCE_MORE }).waitFor({ timeout: 60_000 });
  assert.equal(await rows.count(), 2, "with the same filter");
  // It waits for who reads a row.
  await rows.first().locator("summary").click();
  assert.equal((await deja.query(slug, key, { prompt: POLITELY })).cache_hit, true);
  await page.waitForTimeout(5_000);
  assert.equal(await rows.count(), 2);
  assert.ok(await rows.first().locator("pre").isVisible());
  await rows.first().locator("summary").click();
  await page.getByRole("heading", { name: "Requests" }).click();
  await rows.nth(2).waitFor({ timeout: 60_000 });
  await page.getByRole("link", { name: "Stop" }).click();
  await page.getByRole("link", { name: "Follow live" }).waitFor();

  // A key that is held labels what was read, and not what comes next.
  await until("three samples", async () => {
    await page.goto(at("/quality/label"));
    return page.getByText("0 labelled, 3 to go").isVisible();
  });
  await page.keyboard.down("y");
  await page.getByText("1 labelled, 2 to go").waitFor();
  await page.keyboard.down("y");
  assert.equal(await page.locator("form[data-sent]").count(), 0);
  await page.reload();
  await page.getByText("1 labelled, 2 to go").waitFor();
  await page.keyboard.up("y");
  await page.goto(at("/requests?outcome=semantic_hit"));

  // Wrong, and taken back.
  await rows.filter({ hasText: AGAIN }).getByRole("button", { name: /^Wrong answer/ }).click();
  const said = page.getByRole("status").filter({ hasText: "The pair is forbidden" });
  await said.waitFor();
  await page.getByText("Marked wrong").waitFor();
  assert.match(page.url(), /outcome=semantic_hit/, "the list is the same");
  await said.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("status").filter({ hasText: "may meet again" }).waitFor();
  assert.equal((await deja.query(slug, key, { prompt: AGAIN })).cache_hit, true);

  // One entry deleted, and back.
  await page.goto(at("/cache"));
  await page.getByRole("link", { name: ASK, exact: true }).click();
  await page.getByRole("button", { name: "Delete entry" }).click();
  await page.getByRole("heading", { name: "Deleted" }).waitFor();
  // Opened anew it is the list, without a form that is sent again, and with the same button.
  const sent = [];
  page.on("request", (request) => { if (request.isNavigationRequest()) sent.push(request.method()); });
  await page.reload();
  await page.getByRole("heading", { name: "Cache" }).waitFor();
  assert.equal(await page.getByText("The entry is deleted.").count(), 1);
  assert.deepEqual(sent, ["GET"]);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("status").filter({ hasText: "The entry is back." }).waitFor();
  assert.equal((await deja.query(slug, key, { prompt: AGAIN })).cache_hit, true);

  // Both deleted at once, and back with one Undo.
  await page.goto(at("/cache"));
  for (const prompt of [ASK, OTHER]) await page.getByRole("checkbox", { name: `Select “${prompt}”` }).check();
  await page.getByRole("button", { name: "Delete selected" }).click();
  await page.getByText("2 entries deleted.").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("status").filter({ hasText: "2 entries are back." }).waitFor();
  assert.equal(await page.getByRole("checkbox").count(), 2);
  assert.equal((await deja.query(slug, key, { prompt: AGAIN })).cache_hit, true);

  assert.deepEqual(mistakes(), []);
  await context.close();
});

test("a result of the playground stays where it was, and no form is sent again for it", async () => {
  const { page, context, mistakes } = await open(browser);
  await signIn(page, deja);
  const slug = await makeProject(page, "Tried");
  const sent = [];
  page.on("request", (request) => { if (request.isNavigationRequest()) sent.push(request.method()); });
  for (const [place, field] of [["playground", "Prompt"], ["playground/chat", "Question"]]) {
    await page.goto(`${deja.url}/console/p/${slug}/${place}`);
    await page.getByLabel(field, { exact: true }).fill(ASK);
    await press(page, "Look up only");
    const result = page.locator("#result h2");
    const told = await result.textContent();
    sent.length = 0;
    await page.reload();
    assert.equal(await result.textContent(), told);
    await page.getByRole("link", { name: "Quality" }).click();
    await page.getByRole("heading", { name: "Quality" }).waitFor();
    await page.goBack();
    assert.equal(await result.textContent(), told);
    assert.equal(await page.getByLabel(field, { exact: true }).inputValue(), ASK);
    assert.match(await page.title(), new RegExp(`^${told} · Playground`));
    assert.deepEqual(sent, ["GET", "GET", "GET"]);
    // The page from before has none.
    await page.goBack();
    assert.equal(await result.count(), 0);
  }
  // On a phone the result is in sight, where the form fills the screen.
  await page.setViewportSize({ width: 375, height: 812 });
  await page.getByLabel("Question", { exact: true }).fill(ASK);
  await press(page, "Look up only");
  const { top } = await page.locator("#result h2").evaluate((title) => title.getBoundingClientRect());
  assert.ok(top > 0 && top < 400, String(top));
  assert.deepEqual(mistakes(), []);
  await context.close();
});
