/** Four times nine cycles of the torture; `npm run torture -- --cycles 1000` is the same for longer. */
import { rm } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../e2e/testing/served-sheaf.ts";
import { Tally } from "./tally.ts";
import { ACKNOWLEDGED_EVERY, torture } from "./torture.ts";

const CYCLES = 9;
const SEED = Number(process.env["SHEAF_SEED"] ?? Date.now() % 2 ** 31);

describe("kill -9 of the gateway, the engine host and the whole group", () => {
  it.each([
    ["the indexes of a server as it comes", "on", false, "on"],
    ["indexes in files, of small segments", "256/1024", false, "off"],
    ["such files damaged before each cycle", "32/256", true, "off"],
    [
      "collections that share files until they have 40 records, and every other time do not",
      "on",
      false,
      "40/40000/1,off",
    ],
  ])(
    `loses and doubles nothing in ${CYCLES} cycles with %s (seed ${SEED})`,
    { timeout: 60_000 + CYCLES * 15_000 },
    async (_what, indexFiles, losesIndexFiles, sharedStores) => {
      const data = await temporaryFolder();
      const tally = new Tally();
      const discard = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });
      const run = {
        cycles: CYCLES,
        seed: SEED,
        writers: 8,
        kill: "mixed",
        indexFiles,
        sharedStores,
        losesIndexFiles,
      } as const;
      await torture({ ...run, data, discard, tally });
      await discard(data);
      console.log(tally.table(0));
      expect(tally.cycles).toBe(CYCLES);
      expect(tally.operations("acknowledged")).toBeGreaterThanOrEqual(
        Math.floor(CYCLES / ACKNOWLEDGED_EVERY),
      );
      expect(tally.lostFiles > 0).toBe(losesIndexFiles);
      for (const victim of ["gateway", "host", "group"] as const) {
        expect(tally.kills(victim, "load"), victim).toBeGreaterThan(0);
      }
    },
  );
});
