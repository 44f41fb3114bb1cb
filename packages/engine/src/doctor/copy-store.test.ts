/** A copy of a store has what is in it, and nothing of what was removed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { copyStore } from "./copy-store.ts";

const KEYS = Array.from({ length: 4_000 }, (_, i) => Buffer.from(`person-${String(i).padStart(5, "0")}.`));
const LEFT = KEYS.filter((_, i) => i % 3 === 1);

it("leaves no key of a removed entry in the copy, not even where it divides two pages", async () => {
  const path = temporaryFolder();
  const [folder, to] = [join(path, "store"), join(path, "copy")];
  const disk = createDiskSpace(path, { diskReserve: 0 });
  const store = new LmdbEnvironment({ folder, name: "store", disk });
  await store.transact(() => {
    for (const key of KEYS) store.put(key, Buffer.alloc(40, "value"));
  });
  await store.transact(() => {
    for (const key of KEYS.filter((each) => !LEFT.includes(each))) store.remove(key);
  });
  await store.close();
  const { before, after } = await copyStore({ folder, name: "store", to });
  expect(after).toBeLessThan(before);
  const bytes = readFileSync(join(to, "data.mdb"));
  expect(KEYS.filter((key) => bytes.includes(key)).map(String)).toEqual(LEFT.map(String));
});
