// The built binary with a data directory of its own, and a client of its API.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../..");
const binary = process.env.DEJA_BIN
  ?? path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, "target"), "debug", "deja");

export async function startDeja(provider) {
  if (!existsSync(binary)) throw new Error(`${binary} is not there: cargo build -p deja-server`);
  const data = mkdtempSync(path.join(tmpdir(), "deja-e2e-"));
  const url = `http://127.0.0.1:${await freePort()}`;
  const env = {
    PATH: process.env.PATH,
    DEJA_LISTEN: url.slice("http://".length),
    DEJA_DATA_DIR: data,
    DEJA_PRICES_URL: "",
    DEJA_EMBED_TIMEOUT_MS: "60000",
    OPENAI_API_KEY: "sk-fake",
    OPENAI_BASE_URL: `${provider.url}/v1`,
  };
  const server = spawn(binary, ["serve"], { env, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk) => { log += chunk; });
  }
  const ended = new Promise((resolve) => { server.once("exit", resolve); });
  const post = async (path, key, body) => {
    const response = await fetch(`${url}/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const request = response.headers.get("x-request-id");
    return { status: response.status, request, ...(await response.json()) };
  };
  const deja = {
    url,
    log: () => log,
    stop: async () => {
      server.kill("SIGTERM");
      const code = await ended;
      rmSync(data, { recursive: true, force: true });
      if (code !== 0) throw new Error(`the server ended with ${code}\n${log}`);
    },
    // The link for the first owner, as the server prints it.
    link: () => until("the link for the first owner", () => log.match(/http:\/\/\S+\/console\/setup\?token=[0-9a-f]{64}/)?.[0]),
    query: (slug, key, body) => post(`p/${slug}/v1/cache/query`, key, { model: "gpt-4o-mini", ...body }),
    // A request of an application of OpenAI's, and what deja says of it in headers.
    chat: async (slug, key, body, headers = {}, signal = undefined) => {
      const response = await fetch(`${url}/p/${slug}/v1/chat/completions`, {
        method: "POST",
        signal,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
        body: JSON.stringify({ model: "gpt-4o-mini", ...body }),
      });
      const [cache, match, reason] = ["cache", "match", "reason"].map((name) => response.headers.get(`x-deja-${name}`));
      return { status: response.status, cache, match, reason, body: body.stream ? await response.text() : await response.json() };
    },
    feedback: (slug, key, body) => post(`p/${slug}/v1/cache/feedback`, key, body),
  };
  await until("readiness", async () => {
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}\n${log}`);
    return fetch(`${url}/readyz`).then((response) => response.ok, () => false);
  });
  return deja;
}

// Waits until `check` gives something; a minute is longer than anything may take on a slow machine.
export async function until(what, check) {
  const end = Date.now() + 60_000;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`no ${what} within a minute`);
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
