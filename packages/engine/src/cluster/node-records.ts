/**
 * How a search node that writes a collection in partitions asks the others for its records: as a gateway asks them, but by
 * itself. It looks for them once there is something to ask.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  CallBudget,
  ClusterSecret,
  HedgeDelay,
  type PeerAddress,
  type PeerCallRules,
  PeerPool,
  callPeers,
} from "@sheaf/process";
import { Cancellation, SheafError } from "@sheaf/protocol";
import type { AskRecords } from "../collection/opening/open-records.ts";
import type { EngineLog } from "../engine-log.ts";
import type { ClusterNodes } from "../host/hosted-engine-options.ts";
import type { EngineDatabase } from "../local-engine-options.ts";
import { partitionName } from "../storage/folder/partition-name.ts";
import type { RecordsAnswer } from "../storage/log/asked/records-question.ts";
import { addressesOf } from "./node-addresses.ts";
import { isUnavailable, isWithoutRoom, leastBusyFirst } from "./node-choice.ts";

/** A node that opens the partition first says so after ten seconds; the writer is not to wait for two of them. */
const ANSWER_MS = 15_000;
/** How long the first question waits for a node. */
const FIRST_NODE_MS = 3_000;
const LOOK_MS = 20;

export interface NodeRecordsOptions {
  readonly secret: ClusterSecret;
  readonly readReplicas: number;
  /** Gives the nodes now and from then on, until what it resolves to is called. */
  readonly watch: (onNodes: (nodes: readonly PeerAddress[]) => void) => Promise<() => Promise<void>>;
}

export class NodeRecords {
  readonly #nodes: PeerPool;
  readonly #options: NodeRecordsOptions;
  readonly #rules: PeerCallRules = {
    what: "search node",
    budget: new CallBudget(),
    delay: new HedgeDelay(),
    isOfPeer: mayBeKnownElsewhere,
    isUndone: isWithoutRoom,
  };
  #watching: Promise<() => Promise<void>> | null = null;

  constructor(options: NodeRecordsOptions) {
    this.#options = options;
    this.#nodes = new PeerPool(options.secret);
  }

  readonly ask: AskRecords = async (ref, partition, question) => {
    await this.#watch();
    const ranked = this.#nodes.ranked(partitionName(ref.id, partition));
    const links = leastBusyFirst(ranked, this.#options.readReplicas);
    const signal = new Cancellation();
    const words = `partition ${partition} of the collection has not answered in time; try again`;
    const late = new SheafError("unavailable", words, { retryAfterSeconds: 1 });
    const timer = setTimeout(() => signal.abort(late), ANSWER_MS);
    const args = [ref, partition, question];
    try {
      const call = { method: "recordsOf", args, options: { signal }, repeat: "hedged" } as const;
      return (await callPeers(links, call, this.#rules)).value as RecordsAnswer;
    } catch (error) {
      throw isUnknownMethod(error) ? ofBefore() : error;
    } finally {
      clearTimeout(timer);
    }
  };

  async close(): Promise<void> {
    const stop = await this.#watching?.catch(() => undefined);
    await Promise.all([stop?.(), this.#nodes.close()]);
  }

  async #watch(): Promise<void> {
    this.#watching ??= this.#options.watch((nodes) => this.#nodes.update(nodes));
    try {
      await this.#watching;
    } catch (error) {
      this.#watching = null;
      throw error;
    }
    const until = performance.now() + FIRST_NODE_MS;
    while (this.#nodes.open.length === 0 && performance.now() < until) await sleep(LOOK_MS);
  }
}

/** With the nodes that have written themselves down in a database. */
export function nodeRecordsOf(
  { secrets, readReplicas }: ClusterNodes,
  database: EngineDatabase,
  log: EngineLog,
): NodeRecords {
  return new NodeRecords({
    secret: new ClusterSecret(...secrets),
    readReplicas,
    watch: async (onNodes) => {
      const { NodeDirectory } = await import("./node-directory.ts");
      const directory = await NodeDirectory.open(database, log);
      try {
        const cluster = await directory.cluster();
        await directory.watch((nodes) => onNodes(addressesOf(nodes, "search", cluster)));
      } catch (error) {
        await directory.close();
        throw error;
      }
      return () => directory.close();
    },
  });
}

function mayBeKnownElsewhere(error: unknown): boolean {
  return isUnavailable(error) || isUnknownMethod(error);
}

/** Of a node that runs a program of before. */
function isUnknownMethod(error: unknown): boolean {
  return error instanceof SheafError && error.code === "internal" && error.message.includes("has no method");
}

function ofBefore(): SheafError {
  const words = "a search node could not say what it has of the collection; is it of an earlier build?";
  return new SheafError("unavailable", words, { retryAfterSeconds: 1 });
}
