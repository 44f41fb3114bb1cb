import { expect, it } from "vitest";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { onBothDisks } from "./archive-disk.ts";

const MB = 1e6;

it("takes what has room on both disks, keeps it on both, and tells once that the archive's is full", () => {
  const free = { data: 100 * MB, archive: 100 * MB };
  const told: string[] = [];
  const [data, archive] = (["data", "archive"] as const).map((which) =>
    createDiskSpace("/", {
      ...{ diskReserve: 10 * MB, diskUsage: () => ({ free: free[which], size: 200 * MB }) },
      ...(which === "archive" && { name: "the archive" }),
    }),
  );
  const both = onBothDisks(data!, archive!, (message) => told.push(message));
  // Of the data folder's disk twice the bytes, of the archive's the bytes.
  const claim = both.claim(40 * MB);
  expect(() => both.require(6 * MB)).toThrow("the disk of the data folder is full");
  claim.release();
  both.require(45 * MB);
  free.archive = 12 * MB;
  const words =
    "the disk of the archive is full: 12.0 MB of 200.0 MB are free, and 10.0 MB are kept free (--disk-reserve)";
  expect(() => both.require(3 * MB)).toThrow(words);
  expect(() => both.claim(3 * MB)).toThrow(words);
  expect(told).toEqual([words]);
  // What the archive has no entry of needs none of its room.
  both.claimFile(50 * MB).release();
  free.archive = 100 * MB;
  free.data = 15 * MB;
  for (let i = 0; i < 3; i++) expect(() => both.claim(40 * MB)).toThrow("the data folder");
  free.data = 200 * MB;
  both.claim(90 * MB).release();
});
