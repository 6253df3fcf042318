// Every page, on a phone and on a desk, in light and in dark: accessible, quiet, no wider than the screen.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { inspect, open, picture } from "../support/browser.js";
import { until } from "../support/deja.js";
import { makeKey, makeOwner, makeProject, press, signIn } from "../support/steps.js";
import { browser, deja } from "../support/world.js";

const QUESTIONS = [
  ["How do I reset my password?", "How can I reset my password?", "How do I reset my password"],
  ["How long does shipping take?", "How long does the shipping take?"],
  ["Can I cancel my subscription at any time?", "Can I cancel my subscription anytime?"],
  ["What is the capital of France?", "What's the capital of France?"],
  ["Where can I download my invoices?", "Where do I download my invoices?"],
  ["Do you offer a discount for students?", "Is there a student discount?"],
  ["Write a haiku about autumn.", "What is the boiling point of water?"],
];
// Longer than its column, and read from right to left.
const ARABIC = "كيف يمكنني إعادة تعيين كلمة المرور الخاصة بحسابي (Shop) إذا نسيتها ولم يعد لدي وصول إلى بريدي الإلكتروني القديم؟";
// Of the picture: a question, and two that ask something else.
const SHOP = ["How do I turn on two-factor login?", "How do I turn off two-factor login?", "How do I reset my password?"];
let slug, shop, entry, turns;

before(async () => {
  const { page, context } = await open(browser);
  await makeOwner(page, deja);
  // Texts that are longer than any column.
  slug = await makeProject(page, "Support bot of the department for customers of the European and overseas branches, production");
  const key = await makeKey(page, slug, "production, the cluster in Frankfurt, all pods of the deployment support-bot-production-blue");
  await page.goto(`${deja.url}/console/p/${slug}`);
  for (let round = 0; round < 4; round += 1) {
    for (const prompts of QUESTIONS) {
      for (const prompt of prompts) await deja.query(slug, key, { prompt, context: round === 3 ? "Answer in French." : null });
    }
  }
  await deja.query(slug, key, { prompt: "" });
  await deja.query(slug, key, { prompt: ARABIC });
  await deja.query(slug, key, {
    prompt: `Which of these is it? ${"Donaudampfschifffahrtsgesellschaftskapitän".repeat(6)}`,
    model: "gpt-4o-mini-with-a-name-that-is-much-longer-than-any-that-a-provider-has-ever-given-to-one-of-its-models-2026-11-22",
    context: `You are the assistant of the support department. ${"Answer briefly and politely in the language of the customer. ".repeat(20)}${"x".repeat(300)}`,
  });
  await deja.query(slug, key, { prompt: "Whom do I ask?", model: "a-model-that-nobody-serves-and-whose-name-is-longer-than-its-column-could-ever-be-on-any-screen" });
  // An application with instructions that change, and one with earlier turns.
  for (const [place, [prompt]] of QUESTIONS.entries()) {
    const system = { role: "system", content: `You help customers of the shop. Today is day ${place}.` };
    for (const stream of [false, true]) {
      await deja.chat(slug, key, { messages: [system, { role: "user", content: prompt }], stream });
    }
  }
  const talk = [["user", QUESTIONS[0][0]], ["assistant", "Open Settings, then Security."], ["user", "And on a phone?"]];
  await deja.chat(slug, key, { messages: talk.map(([role, content]) => ({ role, content })) });
  await page.goto(`${deja.url}/console/projects`);
  shop = await makeProject(page, "Shop");
  const shopKey = await makeKey(page, shop, "website");
  for (const prompt of SHOP) await deja.query(shop, shopKey, { prompt });
  await page.goto(`${deja.url}/console/projects`);
  await makeProject(page, "Empty project");
  await page.getByRole("link", { name: "Providers" }).click();
  await page.getByRole("link", { name: "Add provider" }).first().click();
  await page.getByLabel("Name").fill("house");
  await page.getByRole("radio", { name: /^Anthropic/ }).check();
  await page.getByRole("textbox", { name: "Base URL" }).fill("https://llm.example.com");
  await page.getByRole("textbox", { name: "Models" }).fill("house-large\nhouse-small");
  await page.getByRole("button", { name: "Add provider" }).click();
  await page.getByRole("cell", { name: "Anthropic", exact: true }).waitFor();
  await until("figures", async () => {
    await page.goto(`${deja.url}/console/p/${slug}/analytics`);
    return (await page.locator(".figures dd").first().textContent()) !== "0";
  });
  await page.goto(`${deja.url}/console/p/${slug}/cache`);
  entry = await page.getByRole("link", { name: QUESTIONS[0][0] }).last().getAttribute("href");
  turns = await page.getByRole("link", { name: "And on a phone?" }).getAttribute("href");
  for (const [prompt] of QUESTIONS.slice(1, 4)) {
    const said = { matched_cache_entry_id: entry.split("/").at(-1), prompt, correct: false };
    assert.equal((await deja.feedback(slug, key, said)).status, 200);
  }
  await context.close();
});

// Name, address, and what to do there.
const pages = () => [
  ["projects", "/console/projects"],
  ["project-new", "/console/projects/new"],
  ["overview", `/console/p/${slug}`],
  ["keys", `/console/p/${slug}/keys`],
  ["analytics", `/console/p/${slug}/analytics?range=1h`],
  ["analytics-custom", `/console/p/${slug}/analytics?range=custom&from=2026-07-01T00:00&until=2026-10-26T12:00`],
  ["quality", `/console/p/${slug}/quality`],
  ["quality-label", `/console/p/${slug}/quality/label`],
  ["quality-apply", `/console/p/${slug}/quality/apply?guard=off`],
  ["quality-empty", "/console/p/empty-project/quality"],
  ["cache", `/console/p/${slug}/cache`],
  ["cache-by-meaning", `/console/p/${slug}/cache?q=forgot+my+password&by=meaning&model=gpt-4o-mini&context=-`],
  ["wrong", `/console/p/${slug}/cache/wrong`],
  ["cache-by-use", `/console/p/${slug}/cache?sort=4`],
  ["requests", `/console/p/${slug}/requests`],
  ["requests-open", `/console/p/${slug}/requests`, async (page) => {
    for (const request of (await page.locator("tbody summary").all()).slice(0, 3)) await request.click();
    await page.locator("tbody details[open] dl").first().waitFor();
  }],
  ["requests-by-time", `/console/p/${slug}/requests?sort=5`],
  ["entry", entry],
  ["entry-turns", turns],
  ["purge", `/console/p/${slug}/cache/purge`],
  ["playground", `/console/p/${slug}/playground`, async (page) => {
    await page.getByLabel("Prompt").fill("How might I reset my password?");
    await page.getByLabel("Model").fill("gpt-4o-mini");
    await page.getByRole("button", { name: "Look up only" }).click();
    await page.locator("#result").waitFor();
  }],
  // The one that the README shows.
  ["playground-hit", `/console/p/${shop}/playground`, async (page) => {
    await page.getByLabel("Prompt").fill("How can I turn on two-factor login?");
    await page.getByLabel("Model").fill("gpt-4o-mini");
    await page.getByRole("button", { name: "Look up only" }).click();
    await page.getByRole("heading", { name: /A similar prompt is in the cache/ }).waitFor();
  }],
  ["chat", `/console/p/${slug}/playground/chat`, async (page) => {
    await page.getByLabel("Instructions").fill("You help customers of the shop. Today is day 0.");
    await page.getByLabel("Question").fill("How might I reset my password?");
    await page.getByRole("button", { name: "Look up only" }).click();
    await page.locator("#identity").waitFor();
  }],
  ["chat-whole", `/console/p/${slug}/playground/chat`, async (page) => {
    await page.getByLabel("Question").fill("How might I reset my password?");
    await page.getByText("More of the request").click();
    await page.getByLabel("More members, as JSON").fill('{"seed": 7, "tools": [{"type": "function", "function": {"name": "f"}}]}');
    await page.getByRole("button", { name: "Look up only" }).click();
    await page.locator("#identity").waitFor();
    await page.getByText("The request", { exact: true }).click();
  }],
  ["providers", `/console/p/${slug}/providers`],
  ["provider-new", `/console/p/${slug}/providers/new`],
  ["own-providers", "/console/p/empty-project/providers"],
  ["provider-edit", "/console/p/empty-project/providers/own/house"],
  ["settings", `/console/p/${slug}/settings`],
  ["settings-refused", `/console/p/${slug}/settings`, async (page) => {
    await page.getByLabel("Samples at most").fill("7");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator("#samples-problem").waitFor();
  }],
  ["members", `/console/p/${slug}/members`],
  ["delete", `/console/p/${slug}/delete`],
  // The page of all confirmations, with a name that breaks nowhere.
  ["operator-change", `/console/operators/change?do=member&email=${"support_of_all_branches".repeat(5)}@example.com`],
  ["audit", "/console/audit"],
  ["operators", "/console/operators"],
  ["account", "/console/account"],
  ["empty-overview", "/console/p/empty-project"],
  ["empty-chat", "/console/p/empty-project/playground/chat"],
  ["empty-keys", "/console/p/empty-project/keys"],
  ["empty-analytics", "/console/p/empty-project/analytics"],
  ["empty-requests", "/console/p/empty-project/requests"],
  ["empty-cache", "/console/p/empty-project/cache"],
  ["not-found", "/console/p/nobody"],
];
// A phone, a desk, and where a table, or the navigation beside it, has just room enough.
for (const [width, colorScheme] of [[390, "light"], [390, "dark"], [901, "light"], [1101, "dark"], [1280, "light"], [1280, "dark"]]) {
  test(`${width} px, ${colorScheme}`, async () => {
    const viewport = { width, height: width === 390 ? 844 : 720 };
    const { page, context, mistakes } = await open(browser, { viewport, colorScheme });
    await page.goto(`${deja.url}/console/sign-in`);
    const found = await inspect(page, "sign-in");
    await signIn(page, deja);
    for (const [name, address, act] of pages()) {
      await page.goto(deja.url + address);
      await act?.(page);
      // The tables of charts are opened, too.
      await page.evaluate(() => { for (const details of document.querySelectorAll("figure details")) details.open = true; });
      found.push(...await inspect(page, name));
      if (name === "playground-hit" && width === 1280 && colorScheme === "light") await picture(page, "playground");
    }
    assert.deepEqual([...found, ...mistakes()], []);
    await context.close();
  });
}

test("lines and bars are told apart without their colours", async () => {
  const { page, context } = await open(browser);
  await signIn(page, deja);
  await page.goto(`${deja.url}/console/p/${slug}/analytics?range=1h`);
  const dashes = await page.locator("#miss-latency .plot path.line, #miss-latency .legend path.line")
    .evaluateAll((lines) => lines.map((line) => getComputedStyle(line).strokeDasharray));
  assert.equal(dashes.length, 6);
  assert.equal(new Set(dashes).size, 3);
  assert.deepEqual(dashes.slice(0, 3), dashes.slice(3), "the legend shows them as they are drawn");
  await context.close();
});

test("moments have the time zone of the browser beside UTC", async () => {
  const { page, context, mistakes } = await open(browser, { timezoneId: "Asia/Kolkata" });
  await signIn(page, deja);
  await page.goto(`${deja.url}/console/audit`);
  assert.equal(await page.locator("tbody .clip").count(), 0, "nobody who changed something is cut");
  const [written, exact] = await page.locator("tbody time").first().evaluate((time) => [time.textContent, time.dateTime]);
  const [hours, minutes] = exact.slice(11, 16).split(":").map(Number);
  const there = new Date(Date.UTC(2026, 0, 1, hours + 5, minutes + 30)).toISOString().slice(11, 16);
  const seconds = exact.slice(16, 19);
  assert.match(written, new RegExp(`^\\d{4}-.*${exact.slice(11, 16)}${seconds} UTC \\(.*${there}${seconds} here\\)$`));
  await page.goto(`${deja.url}/console/p/${slug}/cache`);
  assert.match(await page.locator("tbody time").first().getAttribute("title"), / UTC; .* here$/);
  assert.deepEqual(mistakes(), []);
  await context.close();
});

test("a custom range is typed in the time of the browser and sent in UTC, on days of a clock change too", async () => {
  const { page, context, mistakes } = await open(browser, { timezoneId: "Europe/Berlin" });
  await signIn(page, deja);
  const at = `${deja.url}/console/p/${slug}/analytics`;
  // Both 02:30 of the night in which the clock is set back: at 00:30 and 01:30 UTC.
  for (const [from, here] of [["2026-10-25T00:30", "2026-10-25T02:30"], ["2026-10-25T01:30", "2026-10-25T02:30"], ["2026-07-01T12:00", "2026-07-01T14:00"]]) {
    // Whatever the hours are that are still kept: the page has this one.
    await page.route("**/analytics?*", async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace(/(id="from"[^>]* value=")[^"]*/, `$1${from}`);
      await route.fulfill({ response, body });
    });
    await page.goto(`${at}?range=custom&from=2026-01-01T00:00&until=2026-10-26T12:00`);
    assert.equal(await page.getByLabel("From (Europe/Berlin)").inputValue(), here);
    assert.equal(await page.locator("#from-utc").textContent(), `${from.replace("T", " ")} UTC`);
    await press(page, "Show");
    assert.equal(new URL(page.url()).searchParams.get("from"), from, "what nobody changed is sent as it came");
    await page.unroute("**/analytics?*");
  }
  for (const [from, until, sentFrom, sentUntil] of [
    // In summer, in winter; over the hour that comes twice, and over the one that is left out.
    ["2026-07-01T14:00", "2026-11-20T14:00", "2026-07-01T12:00", "2026-11-20T13:00"],
    ["2026-10-25T02:30", "2026-10-25T02:30", "2026-10-25T00:30", "2026-10-25T01:30"],
    ["2026-03-29T02:30", "2026-03-29T02:30", "2026-03-29T00:30", "2026-03-29T01:30"],
  ]) {
    await page.goto(`${at}?range=custom&from=2026-01-01T00:00&until=2026-10-26T12:00`);
    await page.getByLabel("From (Europe/Berlin)").fill(from);
    await page.getByLabel("Until (Europe/Berlin)").fill(until);
    assert.equal(await page.locator("#from-utc").textContent(), `${sentFrom.replace("T", " ")} UTC`);
    await press(page, "Show");
    const sent = new URL(page.url()).searchParams;
    assert.deepEqual([sent.get("from"), sent.get("until")], [sentFrom, sentUntil]);
    assert.equal(await page.locator("[role=alert]").count(), 0);
  }
  assert.deepEqual(mistakes(), []);
  await context.close();
});

test("a filter by time may be open, and its moments are those of the browser", async () => {
  const { page, context, mistakes } = await open(browser, { timezoneId: "Europe/Berlin" });
  await signIn(page, deja);
  for (const place of ["/console/audit", `/console/p/${slug}/requests`]) {
    await page.goto(deja.url + place);
    const [from, until] = ["From", "Until"].map((name) => page.getByLabel(`${name} (Europe/Berlin)`));
    assert.deepEqual([await from.inputValue(), await until.inputValue()], ["", ""]);
    await from.fill("2026-07-01T14:00");
    await press(page, "Filter");
    const sent = new URL(page.url()).searchParams;
    assert.deepEqual([sent.get("from"), sent.get("until")], ["2026-07-01T12:00", ""]);
    assert.deepEqual([await from.inputValue(), await until.inputValue()], ["2026-07-01T14:00", ""]);
    assert.ok(await page.locator("tbody tr").count() > 0);
    await from.fill("");
    await press(page, "Filter");
    assert.equal(new URL(page.url()).searchParams.get("from"), "", "an end is taken away again");
  }
  assert.deepEqual(mistakes(), []);
  await context.close();
});

test("without a script a custom range is typed in UTC, and said to be", async () => {
  const { page, context } = await open(browser, { timezoneId: "Europe/Berlin", javaScriptEnabled: false });
  await signIn(page, deja);
  await page.goto(`${deja.url}/console/p/${slug}/analytics?range=custom&from=2026-07-01T00:00&until=2026-10-26T12:00`);
  await page.getByLabel("From (UTC)").fill("2026-07-02T12:00");
  await press(page, "Show");
  assert.equal(new URL(page.url()).searchParams.get("from"), "2026-07-02T12:00");
  await context.close();
});

test("a text that is read from right to left begins in sight, and a phone says which project it shows", async () => {
  const { page, context } = await open(browser);
  await signIn(page, deja);
  await page.goto(`${deja.url}/console/p/${slug}/cache?q=${encodeURIComponent(ARABIC)}`);
  const inSight = await page.locator("tbody th .clip").first().evaluate((clip) => {
    const first = document.createRange();
    first.setStart(clip.firstChild, 0);
    first.setEnd(clip.firstChild, 1);
    const [letter, box] = [first, clip].map((one) => one.getBoundingClientRect());
    return letter.left >= box.left - 1 && letter.right <= box.right + 1;
  });
  assert.ok(inSight);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.ok(await page.locator("nav[aria-label=Project] .what").isVisible());
  await context.close();
});

test("the keyboard reaches the content and every control", async () => {
  const { page, context } = await open(browser);
  await signIn(page, deja);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Create project");
  const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(ring, "solid", "what has the focus shows it");
  await context.close();
});
