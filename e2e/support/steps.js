// Steps that several journeys share.
import assert from "node:assert/strict";

export const OWNER = { email: "ada@example.com", password: "correct horse battery staple" };

export async function makeOwner(page, deja) {
  await page.goto(await deja.link());
  await page.getByLabel("Email").fill(OWNER.email);
  await page.getByLabel("Password", { exact: true }).fill(OWNER.password);
  await page.getByLabel("Password, again").fill(OWNER.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Projects" }).waitFor();
}

export async function signIn(page, deja) {
  await page.goto(`${deja.url}/console`);
  await page.getByLabel("Email").fill(OWNER.email);
  await page.getByLabel("Password").fill(OWNER.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Projects" }).waitFor();
}

export async function makeProject(page, name) {
  await page.getByRole("link", { name: "Create project" }).first().click();
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Create project" }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
  return page.url().split("/p/")[1];
}

export async function makeKey(page, slug, name) {
  await page.getByRole("link", { name: "API Keys" }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Create API key" }).click();
  const key = (await page.locator("dialog #key").textContent()).trim();
  assert.match(key, /^dj_[0-9a-f]{32}$/);
  return key;
}

// Sends a form, and waits for the page that it leads to.
export async function press(page, name) {
  const loaded = page.waitForEvent("load");
  await page.getByRole("button", { name, exact: true }).click();
  await loaded;
}
