#!/usr/bin/env node
// Committed, because npm links no command whose file is missing at install. Runs the build where there is one, else
// the sources, in this very process: signals sent to it have to reach the server itself.
import { existsSync } from "node:fs";
import { register } from "node:module";

// Who reads the first lines only, as `sheaf --help | head -1` does, wants no more of it: that is no fault of anybody.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
  });
}

const built = new URL("../bundle/main.js", import.meta.url);
const sources = new URL("../src", import.meta.url);
/** A command that runs longer is told meanwhile, others at their end. */
const STALE_AFTER_MS = 2_000;

async function loadSources() {
  register(new URL("source-condition.mjs", import.meta.url));
  const { register: registerTsx } = await import("tsx/esm/api");
  registerTsx();
  return import(new URL("../src/cli/main.ts", import.meta.url).href);
}

/** An installed package has no sources. Not at the start, which it would slow down: it looks at every source. */
async function tellIfStale() {
  if (!existsSync(built) || !existsSync(sources)) return;
  const { isStale } = await import("./is-stale.mjs");
  if (await isStale(built))
    process.stderr.write("The build is older than the sources of this clone: run `npm run build`.\n");
}

let told;
const tellOnce = () => (told ??= tellIfStale().catch(() => {})); // A file that is replaced meanwhile ends no command.
setTimeout(tellOnce, STALE_AFTER_MS).unref();

const { main } = existsSync(built) ? await import(built.href) : await loadSources();
const code = await main(process.argv.slice(2));
await tellOnce();
process.exit(code);
