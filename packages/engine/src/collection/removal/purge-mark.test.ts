import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { DataFolder } from "../../storage/folder/data-folder.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { copyPurgeMark, readPurgeMark, writePurgeMark } from "./purge-mark.ts";

const [SOURCE, FORK] = ["0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"];
const MARK = { at: 7_000, sequence: 12, nextOffset: 10, forgotten: 3 };

let folder: DataFolder;

beforeEach(() => {
  folder = new DataFolder(temporaryFolder());
  for (const id of [SOURCE, FORK]) {
    mkdirSync(folder.collection(id), { recursive: true });
    writeFileSync(folder.collectionFile(id), "");
  }
});

describe("the mark of a purge", () => {
  it("goes to a fork", () => {
    writePurgeMark(folder, SOURCE, MARK);
    copyPurgeMark(folder, SOURCE, FORK);
    expect(readPurgeMark(folder, FORK)).toEqual(MARK);
  });

  it("makes a fork as old as its source where that has none, or a folder in its place", () => {
    const { birthtimeMs } = statSync(folder.collectionFile(SOURCE));
    rmSync(folder.collectionFile(FORK));
    copyPurgeMark(folder, SOURCE, FORK);
    const unknown = { at: birthtimeMs, sequence: 0, nextOffset: 0, forgotten: 0 };
    expect(readPurgeMark(folder, FORK)).toEqual(unknown);
    mkdirSync(folder.purgeMark(SOURCE));
    copyPurgeMark(folder, SOURCE, FORK);
    expect(readPurgeMark(folder, FORK)).toEqual(unknown);
  });

  it("takes the place of folders", () => {
    for (const path of [folder.purgeMark(SOURCE), `${folder.purgeMark(SOURCE)}.new`])
      mkdirSync(`${path}/folder`, { recursive: true });
    writePurgeMark(folder, SOURCE, MARK);
    expect(readPurgeMark(folder, SOURCE)).toEqual(MARK);
    expect(readdirSync(folder.collection(SOURCE)).toSorted()).toEqual(["data.mdb", "purged.json"]);
  });
});
