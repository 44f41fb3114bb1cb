/**
 * Hundreds of connections that send requests as fast as they are read: nobody waits for them, neither on a connection that
 * stands nor on a new one, of which the loop takes one in each of its turns.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RawClient } from "../../packages/server/src/testing/raw-client.ts";
import { SLOWEST_ANSWER_MS, Stage } from "./testing/stage.ts";

const WITHIN_MIB = 2_000;
const ATTACKER = "127.0.0.2";
const NEWCOMER = "127.0.0.3";
const CONNECTIONS = 300;
const FLOOD_MS = 6_000;
const REQUEST = "GET /api/v2/version HTTP/1.1\r\nHost: sheaf\r\n\r\n";
const MANY = REQUEST.repeat(500);

let stage: Stage;
let port: number;
beforeAll(async () => {
  stage = await Stage.open();
  port = Number(new URL(stage.served.url).port);
});
afterAll(() => stage.close());

/** Writes as long as the flood lasts, and reads none of the answers. */
async function flood(until: number): Promise<void> {
  const client = await RawClient.open(port, ATTACKER);
  client.socket.pause();
  while (performance.now() < until && !client.socket.destroyed) {
    if (client.socket.writableLength === 0) client.write(MANY);
    await sleep(1);
  }
  client.close();
}

/** One connection after the other; how long each took until its answer. */
async function newcomer(until: number): Promise<readonly number[]> {
  const times: number[] = [];
  while (performance.now() < until) {
    const startedAt = performance.now();
    const client = await RawClient.open(port, NEWCOMER);
    expect(await client.ask(REQUEST)).toEqual([200]);
    client.close();
    times.push(performance.now() - startedAt);
    await sleep(20);
  }
  return times;
}

describe("pipelined requests", () => {
  it("of hundreds of connections keep nobody waiting", async () => {
    const { value: times } = await stage.unharmed(WITHIN_MIB, async () => {
      const until = performance.now() + FLOOD_MS;
      const asked = newcomer(until);
      await Promise.all(Array.from({ length: CONNECTIONS }, () => flood(until)));
      return asked;
    });
    expect(times.filter((milliseconds) => milliseconds > SLOWEST_ANSWER_MS)).toEqual([]);
  });

  it("of one connection are all answered", async () => {
    const client = await RawClient.open(port, ATTACKER);
    expect(new Set(await client.ask(REQUEST.repeat(2_000), 2_000))).toEqual(new Set([200]));
    client.close();
  });
});
