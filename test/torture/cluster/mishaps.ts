/** What happens to a cluster while writers write, two things at once; each leaves it so that writes go on. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Choices } from "../choices.ts";
import type { TorturedCluster } from "./tortured-cluster.ts";

/** Longest that something is paused or cut: no request runs into a time limit by that alone. */
const LONGEST_MS = 1_200;

type Mishap = (cluster: TorturedCluster, choices: Choices) => Promise<void>;

const length = (choices: Choices): number => choices.unit() * LONGEST_MS;

export const MISHAPS = {
  "a server is killed": (cluster, choices) => cluster.killServer(choices),
  "a server and its disk are lost": (cluster, choices) => cluster.killServer(choices, { emptyDisk: true }),
  "a server is paused": async (cluster, choices) => {
    const server = choices.one(cluster.servers);
    server.pause();
    await sleep(length(choices));
    server.unpause();
  },
  "the primary is lost": ({ database }) => database.failOver(),
  "the primary crashes and starts again": async ({ database: { primary } }) => {
    await primary.kill();
    await primary.resume();
  },
  "the primary is paused": async ({ database: { primary } }, choices) => {
    primary.pause();
    await sleep(length(choices));
    primary.unpause();
  },
  "the standby is paused": async ({ database: { standby } }, choices) => {
    standby.pause();
    await sleep(length(choices));
    standby.unpause();
  },
  "the standby crashes, then the primary is lost": async ({ database }) => {
    await database.standby.kill();
    await sleep(LONGEST_MS / 4);
    await database.standby.resume();
    await database.failOver();
  },
  "connections are cut": async (cluster, choices) => {
    cluster.cutConnections(choices);
    await sleep(length(choices));
    cluster.stopCutting();
  },
  /** The writers' logs are set back, too, once they have stopped. */
  "the database is set back": async () => {},
} satisfies Record<string, Mishap>;

/** What happens to gateways, to the index node and to the object store, at the same time. */
export const MISHAPS_BESIDE = {
  "a gateway is killed": (cluster, choices) => cluster.killGateway(choices),
  "a gateway is paused": async (cluster, choices) => {
    const gateway = choices.one(cluster.gateways);
    gateway.pause();
    await sleep(length(choices));
    gateway.unpause();
  },
  "the index node is killed": (cluster) => cluster.killIndexNode(),
  "the index node is paused": async ({ indexNode }, choices) => {
    indexNode?.pause();
    await sleep(length(choices));
    indexNode?.unpause();
  },
  "a node port is cut": async (cluster, choices) => {
    const join = cluster.cutNode(choices);
    await sleep(length(choices));
    join();
  },
  "the object store is away": async ({ objects }, choices) => {
    objects.fault = () => (choices.chance(0.5) ? "cut" : "busy");
    await sleep(length(choices));
    objects.fault = () => null;
  },
} satisfies Record<string, Mishap>;

export type MishapName = keyof typeof MISHAPS;
export type BesideName = keyof typeof MISHAPS_BESIDE;
export const MISHAP_NAMES = Object.keys(MISHAPS) as readonly MishapName[];
export const BESIDE_NAMES = Object.keys(MISHAPS_BESIDE) as readonly BesideName[];
