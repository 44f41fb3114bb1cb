#!/usr/bin/env node
// Committed, because npm links no command whose file is missing at install. Runs the build where there is one, else
// the sources, in this very process: signals sent to it have to reach the server itself.
import { existsSync } from "node:fs";
import { register } from "node:module";

const built = new URL("../bundle/main.js", import.meta.url);

async function loadSources() {
  register(new URL("source-condition.mjs", import.meta.url));
  const { register: registerTsx } = await import("tsx/esm/api");
  registerTsx();
  return import(new URL("../src/cli/main.ts", import.meta.url).href);
}

const { main } = existsSync(built) ? await import(built.href) : await loadSources();
process.exit(await main(process.argv.slice(2)));
