/** Heavy legal work of one tenant leaves another's answers right and none of them slow. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BusyClient } from "./testing/busy-client.ts";
import { WORKS } from "./testing/heavy-work.ts";
import { LONGEST_TURN_MS, Stage } from "./testing/stage.ts";

/** Or until a first call is answered; `npm run bench:fair` measures for longer. */
const SECONDS = 2;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});

describe("a bystander of heavy legal work", () => {
  it.each(Object.keys(WORKS))("is answered rightly and soon beside %s", async (work) => {
    const client = await BusyClient.start(stage.served.url, stage.attacker, work);
    try {
      const { value, answers, turns } = await stage.unharmed(2_000, () => client.workFor(SECONDS));
      expect(value.answered, "legal calls are served").toBeGreaterThan(0);
      expect(answers.length).toBeGreaterThan(2);
      expect(turns.host, "processor time of a turn of the engine host in ms").toBeLessThan(LONGEST_TURN_MS);
    } finally {
      client.stop();
    }
  });
});
