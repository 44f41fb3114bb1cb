import { expect, it } from "vitest";
import { MemoryFiles } from "../memory-files.ts";
import { readFile, segmentFilesSuite, writeFile } from "../segment-files.suite.ts";
import { LateFiles } from "./late-files.ts";

let answers = 0;
/** Answers overtake each other. */
const turns = (): number => (answers++ * 5) % 7;
segmentFilesSuite({
  name: "files that answer late",
  open: () => new LateFiles(new MemoryFiles(), { turns }),
});
segmentFilesSuite({
  name: "files of which every second read is local",
  open: () => new LateFiles(new MemoryFiles(), { turns, isLocal: () => answers++ % 2 === 0 }),
});

it("fails where it shall, and succeeds at the next try", async () => {
  const kept = new MemoryFiles();
  let failures = 0;
  const files = new LateFiles(kept, {
    failure: (operation, name) => (failures++ % 2 === 0 ? new Error(`${operation} of ${name}`) : null),
  });
  await expect(files.create("a.seg")).rejects.toThrow("create of a.seg");
  const writer = await files.create("a.seg");
  await expect(writer.write(Buffer.from("x"))).rejects.toThrow("write of a.seg");
  await writer.abort();
  await writeFile(kept, "a.seg", Buffer.from("0123"));
  await files.list();
  await expect(files.open("a.seg")).rejects.toThrow("open of a.seg");
  const file = (await files.open("a.seg"))!;
  const into = Buffer.alloc(4);
  expect(file.tryRead(into, 0)).toBe(false);
  await expect(file.read(into, 0)).rejects.toThrow("read of a.seg");
  await file.read(into, 0);
  expect(into.toString()).toBe("0123");
  await file.close();
  expect((await readFile(kept, "a.seg"))?.length).toBe(4);
});
