/** A minute of `npm run soak`: that it runs, and that every answer is right. It is too short to say what grows. */
import { expect, it } from "vitest";
import { runSoak } from "./run-soak.ts";

const SEED = Number(process.env["SHEAF_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

it(`steady traffic is answered rightly while records come and go (SHEAF_SEED=${SEED})`, async () => {
  const log = (): void => {};
  const { samples, requests, problems } = await runSoak({
    ...{ minutes: 1, collections: 40, rate: 25, seed: SEED, sampleMs: 5_000, log },
  });
  expect(problems).toEqual([]);
  expect(requests).toBeGreaterThan(100);
  const names = [...(samples.at(-1)?.mebibytes.keys() ?? [])].join();
  expect(names).toMatch(/gateway \d+,.*engine-host \d+.*,disk/u);
});
