/** Requests a second with several clients at once, the servers in turns. */
import { sum } from "../measure/statistics.ts";
import type { Contender, Row, Target } from "./measured-row.ts";
import { RawConnection, postBytes } from "./raw-connection.ts";

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
  const form = client.formOf(path);
  const requests = bodies.map((body) => postBytes(form, body));
  const connections = Array.from({ length: CLIENTS }, () => new RawConnection(form.url));
  const start = performance.now();
  let next = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() - start < TURN_MS) {
        const request = requests[next++ % requests.length];
        if (request !== undefined) await connection.send(request);
      }
    }),
  );
  const rate = (1_000 * next) / (performance.now() - start);
  for (const connection of connections) connection.close();
  return rate;
}
