import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { type DiskReserve, type DiskSpace, createDiskSpace } from "./disk-space.ts";

const GB = 1e9;

function disk(free: number, diskReserve: DiskReserve, size = 100 * GB): DiskSpace {
  return createDiskSpace("/", { diskReserve, diskUsage: () => ({ free, size }) });
}

describe("the reserve of a disk", () => {
  it("as a share keeps that part of the disk's size free, whatever is written", () => {
    const space = disk(10 * GB + 1_000, "10%");
    space.claimFile(1_000).release();
    expect(() => space.claimFile(1_001)).toThrow(
      "the disk of the data folder is full: 10.0 GB of 100.0 GB are free, and 10% are kept free (--disk-reserve)",
    );
    expect(space.problem()).toBeNull();
    expect(disk(10 * GB - 1, "10%").problem()).toContain("10% are kept free");
    expect(disk(GB, "2.5%", 40 * GB).problem()).toBeNull();
  });

  it("as bytes is the same on every disk", () => {
    disk(1_001_000_000, GB).claimFile(1_000_000);
    expect(() => disk(999 * 1e6, GB).require(0)).toThrow(
      "999.0 MB of 100.0 GB are free, and 1.0 GB are kept free (--disk-reserve)",
    );
  });

  it("of nothing still takes a disk without a megabyte for full", () => {
    expect(disk(0, 0).problem()).not.toBeNull();
    expect(disk(2e6, 0).problem()).toBeNull();
  });

  it("is kept by writes that are under way at the same time", () => {
    const space = disk(GB + 1_000, GB);
    const first = space.claim(300);
    expect(() => space.claim(201)).toThrow("full");
    expect(() => space.require(201)).toThrow("full");
    const second = space.claim(200);
    expect(() => space.claimFile(1)).toThrow("full");
    first.release();
    first.release();
    expect(() => space.claimFile(601)).toThrow("full");
    space.claimFile(600);
    second.release();
    space.claimFile(400);
  });

  it("may be used by the catalog, without which no server starts", () => {
    disk(5e6, "10%").requireCatalog();
    expect(() => disk(1e6, "10%").requireCatalog()).toThrow("full");
  });

  it("is held against the disk that the folder is on", () => {
    const folder = temporaryFolder();
    createDiskSpace(folder, { diskReserve: 0 }).require(0);
    expect(() => createDiskSpace(folder, { diskReserve: Number.MAX_SAFE_INTEGER }).require(0)).toThrow(
      "full",
    );
  });
});
