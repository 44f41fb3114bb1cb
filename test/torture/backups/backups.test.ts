/** A small run of `npm run torture:backups`, which makes a hundred. */
import { rm } from "node:fs/promises";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../e2e/testing/served-sheaf.ts";
import { tortureBackups } from "./torture-backups.ts";

const CYCLES = 4;
const SEED = Number(process.env["SHEAF_SEED"] ?? Date.now() % 2 ** 31);

it(
  `backups under load hold what they say, whatever is killed (seed ${SEED})`,
  { timeout: 240_000 },
  async () => {
    const folder = await temporaryFolder();
    const tally = await tortureBackups({ cycles: CYCLES, seed: SEED, folder });
    expect(tally.complete).toBeGreaterThan(0);
    await rm(folder, { recursive: true, force: true });
  },
);
