/** A small run of `npm run torture:archive`. */
import { rm } from "node:fs/promises";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../e2e/testing/served-sheaf.ts";
import { tortureArchive } from "./torture-archive.ts";

const CYCLES = 6;
const SEED = Number(process.env["SHEAF_SEED"] ?? Date.now() % 2 ** 31);

it(
  `an archive leads to what was acknowledged, whatever is killed (seed ${SEED})`,
  { timeout: 240_000 },
  async () => {
    const folder = await temporaryFolder();
    const tally = await tortureArchive({ cycles: CYCLES, seed: SEED, folder });
    expect(tally.bases).toBeGreaterThan(0);
    expect(tally.acknowledged).toBeGreaterThan(CYCLES);
    await rm(folder, { recursive: true, force: true });
  },
);
