/**
 * A small run of `npm run bench:scale`: what it asks at a million records is answered wholly and with the recall that
 * Sheaf promises in every state of the index. Times say nothing here.
 */
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { largeSet } from "../../benchmarks/scale/data/large-set.ts";
import { measureScale } from "../../benchmarks/scale/measure-scale.ts";
import { readOptions } from "../../benchmarks/scale/options.ts";
import { STATES, type ScaleFigures } from "../../benchmarks/scale/scale-figures.ts";
import { temporaryFolder } from "./testing/served-sheaf.ts";

const RECALL = 0.99;
const FLAGS = "--rows 50000 --dimensions 96 --queries 100 --set topics --phases load,settled,cold";
const MEASURED = STATES.filter((state) => state !== "restarted");

describe("50,000 records", () => {
  let folder = "";
  let figures: ScaleFigures;

  beforeAll(async () => {
    folder = await temporaryFolder();
    const options = { ...readOptions(FLAGS.split(" ")), untimed: true };
    const set = await largeSet("topics", options, folder);
    figures = await measureScale(set, options);
  }, 300_000);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(MEASURED)("are found with the recall that is promised, %s", (state) => {
    const searches = figures.searches[state] ?? {};
    expect(Object.keys(searches)).toEqual(["all", "half", "f5", "f01", "adversarial"]);
    for (const [filter, { recall, short, failures }] of Object.entries(searches)) {
      expect({ filter, short, failures }).toEqual({ filter, short: 0, failures: {} });
      expect(recall, filter).toBeGreaterThanOrEqual(RECALL);
    }
  });

  it("are searched while they are written, under known and new filters", () => {
    const { load, newFiltersSettled } = figures;
    for (const asked of [load?.searches, load?.newFilters, newFiltersSettled]) {
      expect(asked?.requests).toBeGreaterThan(0);
      expect(asked).toMatchObject({ short: 0, failures: {} });
    }
  });

  it("are there whole at the first search after a restart that is answered", () => {
    expect(figures.cold?.before).not.toHaveProperty("incomplete");
    expect(figures.cold?.newFilters).toMatchObject({ short: 0, failures: {} });
  });

  it("show what they take", () => {
    expect(figures.disk?.store).toBeGreaterThan(0);
    for (const { below, whole } of Object.values(figures.memory)) expect(below).toBeLessThan(whole);
    expect(Object.values(figures.memory).length).toBeGreaterThan(3);
  });
});
