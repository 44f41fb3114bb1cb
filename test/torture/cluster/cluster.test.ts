/** Each of the things that happen to a cluster; `npm run torture -- --cluster --cycles 500` is the same for longer. */
import { rm } from "node:fs/promises";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../e2e/testing/served-sheaf.ts";
import { Tally } from "../tally.ts";
import { BESIDE_NAMES, MISHAP_NAMES } from "./mishaps.ts";
import { type ClusterCycle, tortureCluster } from "./torture-cluster.ts";

const CYCLES = 20;
const SEED = Number(process.env["SHEAF_SEED"] ?? Date.now() % 2 ** 31);

it(
  `three search nodes, two gateways and an index node on one database lose and double nothing in ${CYCLES} cycles (seed ${SEED})`,
  {
    timeout: 60_000 + CYCLES * 30_000,
  },
  async () => {
    const data = await temporaryFolder();
    const tally = new Tally();
    const happened = new Set<string>();
    const onCycle = ({ mishap, beside }: ClusterCycle): void => void happened.add(mishap).add(beside);
    await tortureCluster({ cycles: CYCLES, seed: SEED, writers: 5, servers: 3, data, tally, onCycle });
    await rm(data, { recursive: true, force: true });
    console.log(tally.operationsTable());
    expect(tally.cycles).toBe(CYCLES);
    expect([...happened].toSorted()).toEqual([...MISHAP_NAMES, ...BESIDE_NAMES].toSorted());
    // In each cycle before something happens, and after.
    expect(tally.operations("acknowledged")).toBeGreaterThanOrEqual(2 * CYCLES);
  },
);
