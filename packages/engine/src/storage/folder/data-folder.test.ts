import { existsSync, mkdirSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { DataFolder } from "./data-folder.ts";

it("leaves files of dropped collections where they are while they are held", async () => {
  const folder = new DataFolder(temporaryFolder());
  const [dropped, discarded, later] = [randomUUID(), randomUUID(), randomUUID()];
  for (const id of [dropped, discarded, later]) mkdirSync(folder.collection(id), { recursive: true });
  const release = folder.hold();
  await folder.dropCollection(dropped);
  await folder.discardCollection(discarded);
  expect([dropped, discarded].map((id) => existsSync(folder.collection(id)))).toEqual([true, false]);
  await release();
  expect(existsSync(folder.collection(dropped))).toBe(false);
  await folder.dropCollection(later);
  expect(existsSync(folder.collection(later))).toBe(false);
});
