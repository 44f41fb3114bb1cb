import { expect, it } from "vitest";
import { againWhileOutdated, outdated } from "./outdated-plan.ts";

it.each([
  ["each look takes long", 9_000, 3],
  ["each look is short", 1, 16],
])("is given up with 429 where others always write first, and %s", async (_name, lookMs, looks) => {
  let [now, looked] = [0, 0];
  const look = async (): Promise<never> => {
    looked += 1;
    now += lookMs;
    throw outdated();
  };
  await expect(againWhileOutdated(look, () => now)).rejects.toMatchObject({
    ...{ code: "rate_limited", retryAfterSeconds: 1 },
  });
  expect(looked).toBe(looks);
});
