// One thing that an application does with its client library, and what came of it: see python/case.py.
import { readSync, writeSync } from "node:fs";

export const ROOT = process.env.CLIENT_URL;
export const KEY = process.env.CLIENT_KEY;
const swapped = process.env.CLIENT_RUN === "swapped";

export const TOOL = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
  additionalProperties: false,
};
export const SCHEMA = {
  type: "object",
  properties: { name: { type: "string" }, tags: { type: "array", items: { type: "string" } } },
  required: ["name", "tags"],
  additionalProperties: false,
};

export const streamed = (stream) => stream !== swapped;

export function tell(name, told) {
  const line = Buffer.from(`${JSON.stringify({ case: name, ...told })}\n`);
  for (let sent = 0; sent < line.length;) sent += writeSync(1, line, sent);
  // Until the calls of this case are taken.
  readSync(0, Buffer.alloc(16));
}

// Tells what `act` returned, or how the call failed.
export async function run(name, act) {
  let outcome;
  try {
    outcome = await act();
  } catch (fault) {
    // A fault of the script, or an answer that it cannot read. fetch's own faults are TypeErrors, too.
    if ((fault instanceof TypeError && fault.message !== "terminated" && fault.message !== "fetch failed")
      || fault instanceof ReferenceError) throw fault;
    outcome = { error: failure(fault) };
  }
  tell(name, { outcome });
}

// What an application can tell about a failed call. A cut is told by its class alone: who cut it says how.
function failure(fault) {
  const status = fault.status ?? fault.statusCode;
  if (status === undefined || status === 200 || fault.constructor.name === "StreamProviderError") return { broken: true };
  return { status, class: fault.constructor.name, message: fault.message, code: fault.code ?? null };
}
