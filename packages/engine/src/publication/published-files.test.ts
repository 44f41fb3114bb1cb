import { expect, it } from "vitest";
import { Cancellation } from "@sheaf/protocol";
import { FolderFiles } from "../storage/files/folder-files.ts";
import { MemoryFiles } from "../storage/files/memory-files.ts";
import { writeSections } from "../storage/files/section-writer.ts";
import { SegmentMissing } from "../storage/files/segment-damaged.ts";
import { LateFiles } from "../storage/files/testing/late-files.ts";
import { type DiskClaim, createDiskSpace } from "../storage/folder/disk-space.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { PublishedFiles } from "./published-files.ts";

it("waits for what is read where it is, but not for what was found damaged there", async () => {
  const [objects, problems] = [new MemoryFiles(), [] as unknown[]];
  const files = new PublishedFiles({
    ...{
      objects: new LateFiles(objects),
      folder: new FolderFiles(temporaryFolder()),
      inTurn: (work) => work(),
    },
    onProblem: (error) => void problems.push(error),
  });
  const published = [];
  for (const name of ["a.seg", "b.seg"]) published.push(await writeSections(objects, name, async () => {}));
  files.know(published);
  files.readThere();
  const [whole, damaged] = [await files.open("a.seg"), await files.open("b.seg")];
  expect([whole?.isLocal, damaged?.isLocal]).toEqual([false, false]);
  await files.quarantine("b.seg");
  await objects.remove("b.seg");
  await files.fetchRead(new Cancellation());
  expect(whole?.isLocal).toBe(true);
  expect(problems).toEqual([]);
  await whole?.close();
  await files.close();
});

it("says of a file that the disk has no room for it, and not that it is damaged", async () => {
  const objects = new MemoryFiles();
  const folder = temporaryFolder();
  let reserve = Number.MAX_SAFE_INTEGER;
  const claimFile = (bytes: number): DiskClaim =>
    createDiskSpace(folder, { diskReserve: reserve }).claimFile(bytes);
  const problems: unknown[] = [];
  const files = new PublishedFiles({
    ...{ objects, folder: new FolderFiles(folder, { claimFile }), inTurn: (work) => work() },
    onProblem: (error) => void problems.push(error),
  });
  files.know([await writeSections(objects, "a.seg", async () => {})]);
  const missing = files.open("a.seg");
  await expect(missing).rejects.toThrow(SegmentMissing);
  await expect(missing).rejects.toThrow(
    "index file a.seg could not be fetched: the disk of the data folder is full",
  );
  expect(problems).toMatchObject([{ code: "storage_full" }]);
  reserve = 0;
  const file = await files.open("a.seg");
  expect(file?.isLocal).toBe(true);
  await file?.close();
  await files.close();
});
