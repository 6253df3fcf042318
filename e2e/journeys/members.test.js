// A project's owner makes a colleague a viewer, who sees figures and reads no text, on a desk and on a phone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect, open } from "../support/browser.js";
import { until } from "../support/deja.js";
import { OWNER, makeKey, makeOwner, makeProject } from "../support/steps.js";
import { browser, deja } from "../support/world.js";

const VIEWER = { email: "vera@example.com", password: "another horse battery staple" };
const PROMPT = "How do I reset the canaryprompt?";
const CONTEXT = "canarycontext";
const TABS = ["Overview", "API Keys", "Analytics", "Quality", "Requests"];

test("a viewer sees figures and reads no text", async () => {
  const { page, context, mistakes } = await open(browser);
  await makeOwner(page, deja);
  const slug = await makeProject(page, "Shared");
  const key = await makeKey(page, slug, "production");
  const project = `${deja.url}/console/p/${slug}`;
  await page.goto(`${project}/settings`);
  await page.getByLabel("Texts in the log, days").fill("30");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  for (let round = 0; round < 2; round += 1) await deja.query(slug, key, { prompt: PROMPT, context: CONTEXT });

  await page.getByRole("link", { name: "Operators" }).click();
  await page.getByLabel("Email").fill(VIEWER.email);
  await page.getByRole("button", { name: "Make an invitation link" }).click();
  const link = await page.locator("#invite").textContent();
  const theirs = await open(browser, { viewport: { width: 390, height: 844 } });
  const viewer = theirs.page;
  await viewer.goto(link);
  await viewer.getByLabel("Password", { exact: true }).fill(VIEWER.password);
  await viewer.getByLabel("Password, again").fill(VIEWER.password);
  await viewer.getByRole("button", { name: "Create account" }).click();
  await viewer.getByRole("heading", { name: "Projects" }).waitFor();
  assert.ok(!(await viewer.content()).includes("Shared"), "without a rank the project is not there");
  assert.equal((await viewer.goto(project)).status(), 404);

  await page.goto(`${project}/members`);
  await page.getByLabel("Email").fill(VIEWER.email);
  await page.getByLabel("Rank").selectOption("viewer");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("cell", { name: VIEWER.email }).waitFor();
  const found = await inspect(page, "members");
  await page.setViewportSize({ width: 390, height: 844 });
  found.push(...await inspect(page, "members, phone"));
  await until("the request in the log", async () => {
    await page.goto(`${project}/requests`);
    return (await page.content()).includes(PROMPT);
  });

  await viewer.goto(`${deja.url}/console/projects`);
  await viewer.getByRole("link", { name: "Shared" }).click();
  const tabs = viewer.locator("nav[aria-label=Project] a");
  assert.deepEqual(await tabs.allTextContents(), TABS);
  for (const address of await tabs.evaluateAll((links) => links.map((link) => link.href))) {
    for (const width of [390, 1280]) {
      await viewer.setViewportSize({ width, height: 900 });
      await viewer.goto(address);
      found.push(...await inspect(viewer, `${address} as a viewer, ${width} px`));
    }
    const body = await viewer.content();
    for (const text of [PROMPT, CONTEXT]) assert.ok(!body.includes(text), `${address} says ${text}`);
    assert.equal(await viewer.locator("main form[method=post]").count(), 0, `${address} changes something`);
  }
  await viewer.goto(`${project}/requests`);
  assert.match(await viewer.locator("tbody th").first().textContent(), /# [0-9a-f]{12}/);
  for (const place of ["cache", "playground", "settings", "members", "export"]) {
    assert.equal((await viewer.goto(`${project}/${place}`)).status(), 403, place);
  }

  // What is taken holds at once.
  await page.goto(`${project}/members`);
  await page.getByRole("button", { name: `Remove: ${VIEWER.email}` }).click();
  await page.getByRole("status").filter({ hasText: "no member of this project any more" }).waitFor();
  await page.getByRole("cell", { name: OWNER.email }).waitFor();
  assert.equal((await viewer.goto(project)).status(), 404);
  assert.deepEqual([...found, ...mistakes(), ...theirs.mistakes()], []);
  await theirs.context.close();
  await context.close();
});
