/** A server with the sections of a folder as a collection, whose console is opened. It goes on until Ctrl-C and leaves nothing behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { hybridSchema } from "@sheaf/client";
import { DOCUMENTATION, findFiles } from "../quickstart/found-files.ts";
import { type FileMetadata, importFiles } from "../quickstart/import-files.ts";
import { startServer } from "../quickstart/server.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const COLLECTION = "quickstart";
/** What shows an address to the user, by platform. */
const OPENERS: Readonly<Record<string, string>> = { darwin: "open", linux: "xdg-open" };

const given = process.argv[2];
const found = await findFiles(given ?? PROJECT, given === undefined ? DOCUMENTATION : undefined);
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
  const collection = await server.client.createCollection<FileMetadata>({ name: COLLECTION, schema });
  console.log(`Embedding ${found.files.length} files; what is done is there to be searched.`);
  await importFiles(collection, found);
  console.log("All files are there.");
}

/** Where there is nothing to open it with, the address that was printed has to do. */
function openAddress(url: string): void {
  const opener = OPENERS[process.platform];
  if (opener === undefined) return;
  const child = spawn(opener, [url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
