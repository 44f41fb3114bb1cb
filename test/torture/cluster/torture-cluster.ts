/**
 * Torture of several servers on one database, and of gateways before them. In each cycle two things happen while writers write
 * through all of them; then each server, and a gateway, is held to the writers' logs: nothing acknowledged is lost or doubled, no batch is there in half, and no server
 * reads less than was acknowledged anywhere.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { checkSearches } from "../check-searches.ts";
import { Choices } from "../choices.ts";
import { BASE_RECORDS } from "../base-records.ts";
import { ask, observe } from "../observe.ts";
import { COLLECTIONS, SHARED } from "../routes.ts";
import type { Tally } from "../tally.ts";
import type { Target } from "../tortured-server.ts";
import { columnsOf } from "../torture-record.ts";
import { checkTotals, makeShared } from "../torture.ts";
import { Violation } from "../violation.ts";
import { watchGroups } from "../watcher.ts";
import { Writer } from "../writer.ts";
import {
  BESIDE_NAMES,
  type BesideName,
  MISHAPS,
  MISHAPS_BESIDE,
  MISHAP_NAMES,
  type MishapName,
} from "./mishaps.ts";
import { TorturedCluster } from "./tortured-cluster.ts";

/** Longest that writers write before something happens, and after. */
const LOAD_MS = 300;
/** Deadline of the index node, of a first job. */
const INDEXED_MS = 60_000;
/** Deadline of a write after something has happened. It tells a slow cluster from one that hangs. */
const GOES_ON_MS = 60_000;
/** Of the collections that are divided. */
const PARTITIONS = 3;
const LOG_CHARACTERS = 4_000;
const BASE_EVERY = 10;
const SEARCHED_COLLECTIONS = 2;

export interface ClusterTortureOptions {
  readonly cycles: number;
  readonly seed: number;
  readonly writers: number;
  readonly servers: number;
  /** Of the caches; it must be empty. */
  readonly data: string;
  readonly tally: Tally;
  readonly onCycle?: (cycle: ClusterCycle) => void;
}

export interface ClusterCycle {
  readonly cycle: number;
  readonly mishap: MishapName;
  readonly beside: BesideName;
  readonly acknowledged: number;
  readonly unknown: number;
  /** From the end of both to the next operation that was acknowledged. */
  readonly goesOnMs: number;
  readonly ms: number;
}

/** Resolves when all cycles went well; throws the first `Violation`. Leaves nothing running. */
export async function tortureCluster(options: ClusterTortureOptions): Promise<void> {
  const { cycles, seed, tally } = options;
  const cluster = await TorturedCluster.start(options.data, options.servers);
  try {
    const run = new ClusterRun(options, cluster);
    await run.begin();
    for (let cycle = 1; cycle <= cycles; cycle++) await run.cycle(cycle);
    if (cluster.published === 0) throw new Violation("no index was published");
    await untilIndexed(cluster);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    const logs = [
      ...cluster.servers,
      ...cluster.gateways,
      ...(cluster.indexNode ? [cluster.indexNode] : []),
    ].map(({ output }) => `log of a server: ${output.slice(-LOG_CHARACTERS)}`);
    throw new Violation(`cycle ${tally.cycles + 1}, seed ${seed}: ${error.message}`, logs);
  } finally {
    await cluster.close();
  }
}

async function untilIndexed(cluster: TorturedCluster): Promise<void> {
  const deadline = performance.now() + INDEXED_MS;
  while ((await cluster.indexed()) === 0) {
    if (performance.now() > deadline) throw new Violation("the index node has done nothing");
    await sleep(100);
  }
}

class ClusterRun {
  readonly #options: ClusterTortureOptions;
  readonly #cluster: TorturedCluster;
  #writers: readonly Writer[] = [];
  #sharedIds: ReadonlyMap<string, string> = new Map();

  constructor(options: ClusterTortureOptions, cluster: TorturedCluster) {
    this.#options = options;
    this.#cluster = cluster;
  }

  async begin(): Promise<void> {
    const { seed, tally, writers } = this.#options;
    const sharedIds = await makeShared(this.#cluster.target(new Choices(seed, "begin")), PARTITIONS);
    this.#sharedIds = sharedIds;
    // The same once more: as many operations as have an index published.
    const path = `${COLLECTIONS}/${sharedIds.get(SHARED.large)}/upsert`;
    const again = { method: "POST", path, json: columnsOf(BASE_RECORDS) };
    await ask(this.#cluster.target(new Choices(seed, "again")), again);
    // Keys take effect on other servers a moment later, which is tried elsewhere.
    this.#writers = Array.from(
      { length: writers },
      (_, i) => new Writer({ owner: `w${i}`, seed, sharedIds, tally, keys: false, partitions: PARTITIONS }),
    );
  }

  async cycle(cycle: number): Promise<void> {
    const { seed, tally, onCycle } = this.#options;
    const started = performance.now();
    const before = { acknowledged: tally.operations("acknowledged"), unknown: tally.operations("unknown") };
    const choices = new Choices(seed, `cycle/${cycle}`);
    const mishap = this.#nth("round", MISHAP_NAMES, cycle);
    const beside = this.#nth("beside", BESIDE_NAMES, cycle);
    const setsBack = mishap === "the database is set back";
    const kept = this.#writers.map(({ holding }) => holding);
    if (setsBack) await this.#cluster.database.primary.keep();
    const stop = new AbortController();
    const running = this.#load(cycle, stop.signal);
    const goesOnMs = await Promise.race([this.#during({ mishap, beside }, choices), running.then(() => 0)]);
    stop.abort();
    await running;
    if (setsBack) {
      await this.#cluster.database.rollBack();
      for (const [i, writer] of this.#writers.entries()) writer.rollBack(kept[i]!);
    }
    await this.#cluster.database.restoreStandby();
    await this.#cluster.restartServers();
    await this.#check(cycle, choices);
    tally.cycles += 1;
    onCycle?.({
      ...{ cycle, mishap, beside, goesOnMs, ms: performance.now() - started },
      acknowledged: tally.operations("acknowledged") - before.acknowledged,
      unknown: tally.operations("unknown") - before.unknown,
    });
  }

  /** All of them in as many cycles as there are, in another order each time. */
  #nth<T>(kind: string, all: readonly T[], cycle: number): T {
    const round = Math.floor((cycle - 1) / all.length);
    const order = new Choices(this.#options.seed, `${kind}/${round}`).some(all, all.length);
    return order[(cycle - 1) % order.length]!;
  }

  /** How long it took until a write was acknowledged again. */
  async #during(
    { mishap, beside }: Pick<ClusterCycle, "mishap" | "beside">,
    choices: Choices,
  ): Promise<number> {
    await this.#untilAcknowledged();
    await sleep(choices.unit() * LOAD_MS);
    // Choices of their own, for their turns come at any time.
    const besideChoices = new Choices(this.#options.seed, `beside/${choices.unit()}`);
    await Promise.all([
      MISHAPS[mishap](this.#cluster, choices),
      MISHAPS_BESIDE[beside](this.#cluster, besideChoices),
    ]);
    const ended = performance.now();
    await this.#untilAcknowledged();
    const goesOnMs = performance.now() - ended;
    await sleep(choices.unit() * LOAD_MS);
    return goesOnMs;
  }

  async #untilAcknowledged(): Promise<void> {
    const { tally } = this.#options;
    const count = tally.operations("acknowledged");
    const deadline = performance.now() + GOES_ON_MS;
    while (tally.operations("acknowledged") === count) {
      if (performance.now() > deadline) throw new Violation(`no write was acknowledged in ${GOES_ON_MS} ms`);
      await sleep(1);
    }
  }

  /** All writers and a reader beside them, until they are told to stop. */
  async #load(cycle: number, stop: AbortSignal): Promise<void> {
    const { seed, tally } = this.#options;
    const watcher = {
      collections: [...this.#sharedIds.values()],
      owners: this.#writers.map(({ owner }) => owner),
      choices: new Choices(seed, `watcher/${cycle}`),
      tally,
    };
    const target = (who: string) => this.#cluster.target(new Choices(seed, `${who}/servers/${cycle}`));
    await Promise.all([
      ...this.#writers.map((writer) => writer.run(target(writer.owner), cycle, stop)),
      watchGroups(target("watcher"), watcher, stop),
    ]);
  }

  /** Everything that each server says, against everything that the logs say. */
  async #check(cycle: number, choices: Choices): Promise<void> {
    const { tally } = this.#options;
    const { servers, gateways } = this.#cluster;
    const searching = choices.one(servers);
    this.#cluster.indexNode?.checkLog();
    for (const asked of [gateways, servers])
      await Promise.all(asked.map((server) => this.#endWrites(server.send.bind(server))));
    // The first one settles what was not answered; the others have to say the same.
    for (const server of [...servers, choices.one(gateways)]) {
      const target = { isInterrupted: true, send: server.send.bind(server) };
      const state = await observe(target, { owner: null, secrets: [], base: cycle % BASE_EVERY === 0 });
      for (const writer of this.#writers) writer.settle(state);
      checkTotals(state, this.#writers);
      server.checkLog();
      if (server !== searching) continue;
      const [shared, own] = [
        state.collections.filter(({ name }) => name === SHARED.small || name === SHARED.large),
        state.collections.filter(({ id }) => ![...this.#sharedIds.values()].includes(id)),
      ];
      const searched = [...shared, ...choices.some(own, SEARCHED_COLLECTIONS)];
      for (const collection of searched) tally.searches += await checkSearches(target, collection, choices);
    }
  }

  /**
   * A write whose answer was lost may still be under way at the server that has it, whose append is tried for 10 s, or in the
   * database, which was not heard. Writes to a collection are made at a server in their order, and what moves the head of its
   * log before an append that is late has it refused. So an operation that finds no record is answered after either.
   */
  async #endWrites(send: Target["send"]): Promise<void> {
    const target = { isInterrupted: true, send };
    const listed = await ask<{ readonly id: string }[]>(target, { method: "GET", path: COLLECTIONS });
    const json = { ids: ["of no record"], uris: ["of none"] };
    await Promise.all(
      listed.map(({ id }) => ask(target, { method: "POST", path: `${COLLECTIONS}/${id}/update`, json })),
    );
  }
}
