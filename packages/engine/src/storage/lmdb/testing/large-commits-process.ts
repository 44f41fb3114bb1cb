/** Writes one number to all of many keys in each commit, and says which are on disk, until it is killed. */
import { tmpdir } from "node:os";
import { createDiskSpace } from "../../folder/disk-space.ts";
import { LmdbEnvironment } from "../lmdb-environment.ts";

const KEYS = 20_000;
const [folder, first] = process.argv.slice(2) as [string, string];
const disk = createDiskSpace(tmpdir());
const environment = new LmdbEnvironment({ folder, name: "collections/ab/test", disk });
/** Spread over the tree, so that pages are written out of order. */
const key = (i: number): Uint8Array => Buffer.from(String((i * 7_919) % KEYS).padStart(8, "0"));

function* steps(value: Uint8Array): Generator<void, void> {
  for (let i = 0; i < KEYS; i++) {
    environment.put(key(i), value);
    if (i % 64 === 0) yield;
  }
}

/** Small commits before and after the large ones. */
async function writeBeside(): Promise<never> {
  for (let i = 0; ; i++) {
    await environment.transact(() => environment.put(Buffer.from("beside"), Buffer.from(String(i))));
    await new Promise(setImmediate);
  }
}

void writeBeside();
for (let n = Number(first); ; n++) {
  await environment.transact(() => steps(Buffer.from(String(n))));
  process.stdout.write(`${n}\n`);
}
