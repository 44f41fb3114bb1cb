/** The harness itself: legal work passes, and a bystander whose server is stopped is noticed. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Stage } from "./testing/stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});

describe("the hostile lane", () => {
  it("finds nothing wrong with legal work", async () => {
    const { attacker } = stage;
    const { answers } = await stage.unharmed(1_500, async () => {
      const path = await attacker.createCollection("legal");
      const ids = Array.from({ length: 2_000 }, (_, i) => `r${i}`);
      await attacker.expect(201, `${path}/add`, { ids, embeddings: ids.map((_, i) => [i, 1, 2]) });
      expect(await attacker.expect(200, `${path}/count`)).toBe(2_000);
    });
    expect(answers.length).toBeGreaterThan(2);
  });

  it("hears how long the turns of the event loops are", async () => {
    // The loading of modules, if nothing else.
    const { gateway, host, gatewayWork, hostWork } = await stage.turnsSince(0);
    expect(gatewayWork).toBeGreaterThan(0);
    expect(gateway).toBeGreaterThanOrEqual(gatewayWork);
    expect(hostWork).toBeGreaterThan(0);
    expect(host).toBeGreaterThanOrEqual(hostWork);
    const none = { gateway: 0, host: 0, gatewayWork: 0, hostWork: 0 };
    expect(await stage.turnsSince(Date.now() + 60_000)).toEqual(none);
  });

  it("notices an engine host that was started again", async () => {
    const ended = stage.unharmed(1_500, async () => {
      process.kill(await stage.hostPid(), "SIGKILL");
      await stage.served.ask("/api/v2/heartbeat");
      for (;;) {
        const reply = await stage.attacker.send(stage.attacker.collections);
        await reply.arrayBuffer();
        if (reply.status === 200) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
    await expect(ended).rejects.toThrow(/engine host/u);
  });
});
