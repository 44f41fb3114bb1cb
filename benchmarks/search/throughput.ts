/** Requests a second with several clients at once, the servers in turns. */
import { sum } from "../measure/statistics.ts";
import { succeeded } from "./http-client.ts";
import type { Contender, Row, Target } from "./measured-row.ts";

const CLIENTS = 8;
const TURN_MS = 2_000;
const TURNS = 4;

export async function measureThroughput(
  { bodies }: Row,
  targets: readonly Target[],
): Promise<Partial<Record<Contender, number>>> {
  const rates = new Map<Contender, number[]>();
  for (let turn = 0; turn < TURNS; turn++) {
    for (const target of targets) {
      const before = rates.get(target.contender) ?? [];
      rates.set(target.contender, [...before, await oneTurn(bodies, target)]);
    }
  }
  return Object.fromEntries([...rates].map(([contender, of]) => [contender, sum(of) / of.length]));
}

async function oneTurn(bodies: readonly Buffer[], { client, path }: Target): Promise<number> {
  const start = performance.now();
  let next = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() - start < TURN_MS) {
      const body = bodies[next++ % bodies.length];
      if (body !== undefined) succeeded(await client.post(path, body));
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, caller));
  return (1_000 * next) / (performance.now() - start);
}
