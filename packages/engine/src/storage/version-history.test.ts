import { expect, it } from "vitest";
import { DataAbsent } from "./data-absent.ts";
import { storedRecord } from "./record-store.suite.ts";
import { runSteps } from "./steps.ts";
import { HistoryMemory, VersionHistory, historyBounds } from "./version-history.ts";

const MEBIBYTE = 2 ** 20;

it.each([
  [Infinity, 64, 256],
  [3 * 1024 * MEBIBYTE, 64, 256],
  [1024 * MEBIBYTE, 64, 128],
  [160 * MEBIBYTE, 20, 20],
])("holds former versions to a part of the memory of indexes (%d bytes)", (memory, perCollection, whole) => {
  expect(historyBounds(memory)).toStrictEqual({
    perCollection: perCollection * MEBIBYTE,
    whole: whole * MEBIBYTE,
  });
});

const HEAD = { sequence: 9, nextOffset: 9, dimension: 2 };
const REMOVES = [1, 2].map((offset) => ({ id: `r${offset}`, offset, sequence: 10 + offset }));

it("holds nothing of a change that could not be planned to its end", async () => {
  const memory = new HistoryMemory();
  const versions = new VersionHistory(memory);
  const ticket = await versions.open();
  let isHere = false;
  const read = (offset: number): ReturnType<typeof storedRecord> => {
    if (offset === 2 && !isHere) throw new DataAbsent(() => Promise.resolve());
    return storedRecord(offset);
  };
  const keep = (): (() => void) =>
    runSteps(versions.keep({ head: HEAD, read }, { puts: [], removes: REMOVES }));
  expect(keep).toThrow(DataAbsent);
  isHere = true;
  keep()();
  expect(ticket.find(1, storedRecord(1).sequence)).not.toBeNull();
  ticket.close();
  expect(memory.held).toBe(0);
});

it("ends reads whose former versions are elsewhere, and too many to be fetched", async () => {
  const versions = new VersionHistory();
  const ticket = await versions.open();
  const require = (): never => {
    throw new DataAbsent(null);
  };
  const read = (): never => expect.fail("nothing is read");
  runSteps(versions.keep({ head: HEAD, read, require }, { puts: [], removes: REMOVES }))();
  expect(ticket.endedBy).toBe("collection");
});

it("gives back what it holds when it is closed", async () => {
  const memory = new HistoryMemory();
  const versions = new VersionHistory(memory);
  const ticket = await versions.open();
  runSteps(
    versions.keep({ head: HEAD, read: (offset) => storedRecord(offset) }, { puts: [], removes: REMOVES }),
  );
  expect(memory.held).toBeGreaterThan(0);
  versions.close();
  ticket.close();
  expect(memory.held).toBe(0);
});
