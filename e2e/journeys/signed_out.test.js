// What was typed outlives the session, and keys without a modifier can be turned off.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "../support/browser.js";
import { until } from "../support/deja.js";
import { OWNER, makeKey, makeOwner, makeProject, press, signIn } from "../support/steps.js";
import { browser, deja } from "../support/world.js";

async function comeBack(page) {
  await page.getByRole("alert").filter({ hasText: "What you typed waits in this tab." }).waitFor();
  await page.getByLabel("Email").fill(OWNER.email);
  await page.getByLabel("Password").fill(OWNER.password);
  await press(page, "Sign in");
}
const restored = (page) => page.locator("form [role=alert]").filter({ hasText: "What you typed is here again" }).waitFor();

test("a form that came after the session had ended is filled again, without what is secret", async () => {
  const { page, context, mistakes } = await open(browser);
  await makeOwner(page, deja);
  const slug = await makeProject(page, "Late");
  const at = `${deja.url}/console/p/${slug}`;

  await page.goto(`${at}/providers/new`);
  await page.getByLabel("Name").fill("house");
  await page.getByRole("radio", { name: /^Anthropic/ }).check();
  await page.getByRole("textbox", { name: "Base URL" }).fill("https://llm.example.com");
  await page.getByRole("textbox", { name: "Models" }).fill("large\nsmall");
  await page.getByLabel("API key").fill("sk-secret");
  await context.clearCookies();
  await press(page, "Add provider");
  const held = () => page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
  assert.ok((await held()).includes("llm.example.com") && !(await held()).includes("sk-secret"), await held());
  await comeBack(page);
  await restored(page);
  assert.equal(await page.getByLabel("Name").inputValue(), "house");
  assert.ok(await page.getByRole("radio", { name: /^Anthropic/ }).isChecked());
  assert.equal(await page.getByRole("textbox", { name: "Models" }).inputValue(), "large\nsmall");
  assert.equal(await page.getByLabel("API key").inputValue(), "");
  assert.equal(await held(), "[{},{}]", "nothing stays");

  // Of a form that knows what it was filled with only what was touched: the rest may have been changed meanwhile.
  await page.goto(`${at}/settings`);
  await page.getByLabel("Entries at most").fill("500");
  await page.getByLabel("Guard", { exact: true }).selectOption("strict");
  await context.clearCookies();
  await press(page, "Save");
  const other = await open(browser);
  await signIn(other.page, deja);
  await other.page.goto(`${at}/settings`);
  await other.page.getByLabel("Default threshold").fill("0.9");
  await press(other.page, "Save");
  await other.context.close();
  await comeBack(page);
  await restored(page);
  assert.equal(await page.getByLabel("Entries at most").inputValue(), "500");
  assert.equal(await page.getByLabel("Guard", { exact: true }).inputValue(), "strict");
  assert.equal(await page.getByLabel("Default threshold").inputValue(), "0.9");
  await press(page, "Save");
  await page.getByText("Saved.", { exact: true }).waitFor();

  // A form that was taken leaves nothing, and neither does one of somebody else.
  assert.equal(await held(), "[{},{}]");
  await page.getByLabel("Project name").fill("Later");
  await context.clearCookies();
  await press(page, "Save");
  await page.evaluate(() => sessionStorage.setItem("form", sessionStorage.getItem("form").replace("ada@", "eve@")));
  await comeBack(page);
  assert.equal(await page.getByLabel("Project name").inputValue(), "Late");
  assert.equal(await held(), "[{},{}]");
  assert.deepEqual(mistakes(), []);
  await context.close();
});

test("the keys that label a sample can be turned off, and stay so", async () => {
  const { page, context, mistakes } = await open(browser);
  await signIn(page, deja);
  await page.goto(`${deja.url}/console/projects`);
  const slug = await makeProject(page, "Keys");
  const key = await makeKey(page, slug, "first");
  for (const prompt of ["How do I reset my password?", "How can I reset my password?", "How could I reset my password?"]) {
    await deja.query(slug, key, { prompt });
  }
  const labelled = page.getByText(/^\d labelled, \d to go$/);
  await until("samples", async () => {
    await page.goto(`${deja.url}/console/p/${slug}/quality/label`);
    return (await labelled.textContent()) === "0 labelled, 2 to go";
  });
  await page.getByLabel("Keys y, n and s").uncheck();
  await page.keyboard.press("y");
  await page.reload();
  await page.keyboard.press("y");
  await page.keyboard.press("s");
  assert.equal(await labelled.textContent(), "0 labelled, 2 to go");
  assert.ok(!page.url().includes("skip"));
  await page.getByLabel("Keys y, n and s").check();
  await page.keyboard.press("y");
  await page.getByText("1 labelled, 1 to go").waitFor();
  assert.deepEqual(mistakes(), []);
  await context.close();
});
