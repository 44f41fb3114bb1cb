import { join } from "node:path";
import { expect, it } from "vitest";
import { catalogStoreSuite } from "../catalog/catalog-store.suite.ts";
import { createDiskSpace } from "../folder/disk-space.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { LmdbCatalogStore } from "./lmdb-catalog-store.ts";

function open(folder: string): LmdbCatalogStore {
  return new LmdbCatalogStore({ folder: join(folder, "catalog"), disk: createDiskSpace(folder) });
}

catalogStoreSuite({ name: "catalog in LMDB", open: () => open(temporaryFolder()) });

it("has every entry after it was closed and opened", async () => {
  const folder = temporaryFolder();
  const key = Uint8Array.of(1);
  const first = open(folder);
  await first.commit({ conditions: [], clears: [], writes: [{ key, value: Buffer.from("kept") }] });
  await first.close();
  const second = open(folder);
  second.requireWhole();
  expect(await second.get(key)).toEqual(Buffer.from("kept"));
  await second.close();
});

it("keeps nothing while a commit is under way, whose writes become visible at some moment of it", async () => {
  const store = open(temporaryFolder());
  const before = await store.version();
  const writes = [{ key: Uint8Array.of(1), value: Uint8Array.of(1) }];
  const commit = store.commit({ conditions: [], clears: [], writes });
  await Promise.resolve();
  await Promise.resolve();
  expect(await store.version()).toBeNull();
  await commit;
  expect([before, await store.version()]).toEqual([0, 1]);
  await store.close();
});
