/** A server with the sections of a folder as a collection, whose console is opened. It goes on until Ctrl-C and leaves nothing behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { hybridSchema } from "@sheaf/client";
import { type SectionMetadata, indexSections } from "../quickstart/index-sections.ts";
import { readSections } from "../quickstart/sections.ts";
import { startServer } from "../quickstart/server.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const COLLECTION = "quickstart";
/** What shows an address to the user, by platform. */
const OPENERS: Readonly<Record<string, string>> = { darwin: "open", linux: "xdg-open" };

const { sections } = await readSections(process.argv[2] ?? PROJECT);
const server = await startServer();
const ended = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM"), once(process, "SIGHUP")]);
const place = `#/search/default_tenant/default_database/${COLLECTION}`;
const address = `${server.url}/console/${place}`;
console.log(
  `The console: ${address}\nThe key:     ${server.key}\nCtrl-C stops the server and removes its data.`,
);
if (process.stdout.isTTY) openAddress(address);
await Promise.race([index(), ended]);
await ended;
await server.stop();

async function index(): Promise<void> {
  const schema = hybridSchema();
  const collection = await server.client.createCollection<SectionMetadata>({ name: COLLECTION, schema });
  console.log(`Embedding ${sections.length} sections; what is done is there to be searched.`);
  await indexSections(collection, sections);
  console.log("All sections are there.");
}

/** Where there is nothing to open it with, the address that was printed has to do. */
function openAddress(url: string): void {
  const opener = OPENERS[process.platform];
  if (opener === undefined) return;
  const child = spawn(opener, [url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
