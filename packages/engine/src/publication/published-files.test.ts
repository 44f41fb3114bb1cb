import { expect, it } from "vitest";
import { Cancellation } from "@sheaf/protocol";
import { FolderFiles } from "../storage/files/folder-files.ts";
import { MemoryFiles } from "../storage/files/memory-files.ts";
import { writeSections } from "../storage/files/section-writer.ts";
import { LateFiles } from "../storage/files/testing/late-files.ts";
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
