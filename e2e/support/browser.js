// Chromium, and what every page is held to: no script error, no failed request, no violation of the security policy,
// no accessibility violation that axe-core knows, no sideways scrolling of the page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// Where pictures go; without it none are taken.
const pictures = process.env.E2E_PICTURES;
const LARGEST_PICTURE = 150_000;

export async function launch() {
  const executablePath = process.env.CHROMIUM ?? execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
  const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath, args: [...sandbox, "--disable-dev-shm-usage", "--disable-gpu"] });
}

// A page whose mistakes are collected. `mistakes()` must be empty at the end of a journey.
export async function open(browser, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 }, locale: "en-GB", timezoneId: "UTC", reducedMotion: "reduce", ...options,
  });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const found = [];
  page.on("console", (message) => {
    // A form that is refused is answered 422, which Chromium reports as a failed resource: that is the page's content.
    const refusal = /status of 4(22|29|03|04|10)/.test(message.text());
    if (["error", "warning"].includes(message.type()) && !refusal) found.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => found.push(`${page.url()}: ${error}`));
  page.on("requestfailed", (request) => {
    if (request.failure()?.errorText !== "net::ERR_ABORTED") found.push(`${request.url()}: ${request.failure()?.errorText}`);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && !["127.0.0.1", "localhost"].includes(url.hostname)) found.push(`external resource ${url}`);
  });
  return { page, context, mistakes: () => found };
}

// What is wrong with a page; nothing, if all is well.
export async function inspect(page, where) {
  await page.evaluate(axe);
  const result = await page.evaluate(() => globalThis.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  }));
  const violations = result.violations.map(
    (violation) => `${violation.id}: ${violation.help}\n  ${violation.nodes.map((node) => `${node.html} ${node.failureSummary}`).join("\n  ")}`);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (overflow > 0) violations.push(`the page scrolls sideways by ${overflow} px`);
  const cut = await page.evaluate(() => [...document.querySelectorAll("main *")].filter((element) => {
    // What is cut with a mark that says so, and what only a screen reader gets.
    if (element.matches(".clip, .copy code, .sr, input, select, textarea, svg, svg *") || !element.checkVisibility()) return false;
    const { overflowX, overflowY } = getComputedStyle(element);
    const hides = (overflow) => ["hidden", "clip"].includes(overflow);
    return hides(overflowX) && element.scrollWidth > element.clientWidth + 1
      || hides(overflowY) && element.scrollHeight > element.clientHeight + 1;
  }).map((element) => element.outerHTML.slice(0, 200)));
  violations.push(...cut.map((html) => `cut off: ${html}`));
  // Nothing is wider than its box: what scrolls sideways can be reached by the keyboard, what is cut with a mark says all in its title.
  const wide = await page.evaluate(() => [...document.querySelectorAll("body *")].filter((element) => {
    if (element.matches(".sr, .skip, input, select, textarea, svg, svg *") || !element.checkVisibility()) return false;
    if (element.closest("pre[tabindex]")) return false;
    const { right, width } = element.getBoundingClientRect();
    if (width > 0 && right > document.documentElement.clientWidth + 1) return true;
    const over = element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1;
    return over && !(element.matches(".clip, .copy code") && (element.title || element.querySelector("[title]")));
  }).map((element) => `${element.scrollWidth} in ${element.clientWidth} px: ${element.outerHTML.slice(0, 200)}`));
  violations.push(...wide.map((html) => `wider than its box: ${html}`));
  // On a phone each row is a card, what stands in the head sorts, and the tab that is open is in sight.
  if (page.viewportSize().width <= 900) {
    violations.push(...await page.evaluate(() => [...document.querySelectorAll(".table tbody td")]
      .filter((cell) => cell.checkVisibility() && getComputedStyle(cell).display !== "block")
      .map((cell) => `no card: ${cell.outerHTML.slice(0, 200)}`)));
    violations.push(...await page.evaluate(() => [...document.querySelectorAll(".table thead th")]
      .filter((head) => head.checkVisibility() && !head.querySelector("a")).map((head) => `sorts nothing: ${head.textContent}`)));
    // Each line of a cell stands beside the name of its column.
    violations.push(...await page.evaluate(() => [...document.querySelectorAll(".table td[data-label]:not(:has(.copy)) > :not(.sr)")]
      .filter((line) => line.checkVisibility() && line.getBoundingClientRect().left < line.parentElement.getBoundingClientRect().left + 130)
      .map((line) => `below its name: ${line.outerHTML.slice(0, 200)}`)));
    violations.push(...await page.evaluate(() => [...document.querySelectorAll("header [aria-current]")]
      .filter((tab) => { const { left, right } = tab.getBoundingClientRect(); return left < 0 || right > innerWidth; })
      .map((tab) => `out of sight: ${tab.textContent}`)));
  }
  return violations.map((violation) => `${where}: ${violation}`);
}

export async function picture(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  const file = path.join(pictures, `${name}.png`);
  const viewport = page.viewportSize();
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.screenshot({ path: file });
  await page.setViewportSize(viewport);
  const { size } = statSync(file);
  assert.ok(size < LARGEST_PICTURE, `${file} has ${size} bytes`);
}
