import { describe, expect, it } from "vitest";
import {
  type ChangeRun,
  changeRuns,
  decodeChangeRuns,
  encodeChangeRuns,
  lastSequence,
} from "./change-runs.ts";
import { storedRecord } from "../record-store.suite.ts";
import { ValueWriter } from "./value-writer.ts";

const ORIGIN = { store: "collections/ab/test", key: Uint8Array.of(4) };

type Put = readonly [sequence: number, offset: number];

function stepsOf(puts: readonly Put[]): (readonly ChangeRun[] | null)[] {
  return [...changeRuns(puts.map(([sequence, offset]) => storedRecord(offset, { sequence })))];
}

function runsOf(...puts: readonly Put[]): (readonly ChangeRun[])[] {
  return stepsOf(puts).filter((step) => step !== null);
}

describe("runs of changes", () => {
  it("are one for new records, whatever their number", () => {
    const puts = Array.from({ length: 5_000 }, (_, i) => [i + 8, i + 3] as const);
    expect(runsOf(...puts)).toEqual([[{ sequence: 8, offset: 3, count: 5_000 }]]);
    expect(runsOf()).toEqual([]);
  });

  it("of many records are found in steps, once they are known to ascend", () => {
    const puts = Array.from({ length: 20_000 }, (_, i) => [i + 1, i] as const);
    expect(stepsOf(puts).filter((step) => step === null)).toHaveLength(8);
  });

  it("are one each for records anywhere, and ascend", () => {
    expect(runsOf([9, 4], [7, 5], [8, 6], [10, 5])).toEqual([
      [
        { sequence: 7, offset: 5, count: 2 },
        { sequence: 9, offset: 4, count: 2 },
      ],
    ]);
  });

  it("are divided so that a value fits a page, and read back", () => {
    const puts = Array.from({ length: 450 }, (_, i) => [i + 1, 2 * i] as const);
    const keys = runsOf(...puts);
    expect(keys.map((runs) => runs.length)).toEqual([200, 200, 50]);
    const writer = new ValueWriter();
    for (const runs of keys) {
      const value = encodeChangeRuns(writer, runs);
      expect(value.length).toBeLessThanOrEqual(4_096 - 16);
      expect(decodeChangeRuns(value, lastSequence(runs), ORIGIN)).toEqual(runs);
    }
  });

  it.each([
    [
      "that stand under another key",
      [{ sequence: 3, offset: 0, count: 2 }],
      5,
      "ends with operation 4 under",
    ],
    ["none", [], 5, "ends with operation 0 under"],
    ["of no operation", [{ sequence: 5, offset: 0, count: 0 }], 4, "do not ascend"],
    [
      "that overlap",
      [
        { sequence: 3, offset: 0, count: 2 },
        { sequence: 4, offset: 9, count: 2 },
      ],
      5,
      "do not ascend",
    ],
  ])("are refused: %s", (_what, runs, last, reason) => {
    const value = encodeChangeRuns(new ValueWriter(), runs);
    expect(() => decodeChangeRuns(value, last, ORIGIN)).toThrow(reason);
  });

  it("are refused with part of a run", () => {
    const value = encodeChangeRuns(new ValueWriter(), [{ sequence: 5, offset: 0, count: 1 }]);
    expect(() => decodeChangeRuns(value.subarray(0, -1), 5, ORIGIN)).toThrow("the checksum does not match");
  });
});
