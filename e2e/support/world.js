// What each journey needs: a provider, a server and a browser, for the tests of the file that imports them.
import { after } from "node:test";
import { launch } from "./browser.js";
import { startDeja } from "./deja.js";
import { startProvider } from "./provider.js";

const ends = [];
after(async () => {
  for (const end of ends.reverse()) await end();
});

// Awaited here and not in a hook: hooks of the file that imports them begin without waiting for others.
export const provider = await startProvider();
ends.push(() => provider.stop());
export const deja = await startDeja(provider);
ends.push(() => deja.stop());
export const browser = await launch();
ends.push(() => browser.close());
