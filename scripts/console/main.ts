/** A server with the sections of a folder as a collection, whose console is opened. It goes on until Ctrl-C and leaves nothing behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { TooLargeError, type RecordInput, hybridSchema } from "@sheaf/client";
import { type Section, halve, readSections } from "../quickstart/sections.ts";
import { startServer } from "../quickstart/server.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const COLLECTION = "quickstart";
const WRITE_BATCH = 16;
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
await Promise.race([indexSections(), ended]);
await ended;
await server.stop();

async function indexSections(): Promise<void> {
  const collection = await server.client.createCollection({ name: COLLECTION, schema: hybridSchema() });
  console.log(`Embedding ${sections.length} sections; what is done is there to be searched.`);
  let nextId = 0;
  for (let queue = [...sections]; queue.length > 0;) {
    const batch = queue.slice(0, WRITE_BATCH);
    try {
      await collection.add({ records: batch.map((section, i) => recordOf(section, nextId + i)) });
      nextId += batch.length;
      queue = queue.slice(batch.length);
    } catch (error) {
      if (!(error instanceof TooLargeError)) throw error;
      queue = [...batch.flatMap((section) => halve(section)), ...queue.slice(batch.length)];
    }
  }
  console.log("All sections are there.");
}

function recordOf({ path, title, text }: Section, id: number): RecordInput {
  const folder = path.includes("/") ? path.slice(0, path.indexOf("/")) : ".";
  return { id: String(id), document: `${title}\n\n${text}`, metadata: { path, title, folder } };
}

/** Where there is nothing to open it with, the address that was printed has to do. */
function openAddress(url: string): void {
  const opener = OPENERS[process.platform];
  if (opener === undefined) return;
  const child = spawn(opener, [url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
