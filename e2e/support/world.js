// What each journey needs: a provider, a server and a browser, for the tests of the file that imports them.
import { after, before } from "node:test";
import { launch } from "./browser.js";
import { startDeja } from "./deja.js";
import { startProvider } from "./provider.js";

// Bindings that are live: they are set before the first test of the file.
export let provider, deja, browser;

before(async () => {
  provider = await startProvider();
  deja = await startDeja(provider);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await deja?.stop();
  provider?.stop();
});
