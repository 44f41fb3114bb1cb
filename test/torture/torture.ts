/**
 * Torture with real kills. A cycle lets writers write, sends SIGKILL to the gateway, the engine host or the whole
 * group at a random moment, sometimes again while the next one starts, and holds the server to the writers' logs.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { temporaryFolder } from "../e2e/testing/served-sheaf.ts";
import { BASE_RECORDS } from "./base-records.ts";
import { collectionBody } from "./catalog-operations.ts";
import { checkFiles } from "./check-files.ts";
import { loseIndexFiles } from "./lose-index-files.ts";
import { checkSearches } from "./check-searches.ts";
import { Choices } from "./choices.ts";
import { type ServerState, ask, checkFolders, observe } from "./observe.ts";
import { COLLECTIONS, PROBE, SHARED, SHARED_NAMES } from "./routes.ts";
import { Tally } from "./tally.ts";
import { columnsOf } from "./torture-record.ts";
import { type Target, TorturedServer, type Victim } from "./tortured-server.ts";
import { Violation } from "./violation.ts";
import { watchGroups } from "./watcher.ts";
import { Writer } from "./writer.ts";

/** In turn, so that each comes in few cycles. */
const VICTIMS: readonly Victim[] = ["gateway", "host", "group"];
/** Longest that writers write before a kill. */
const LOAD_MS = 400;
/** So often the kill waits for the first acknowledged operation: a slow machine may have none within `LOAD_MS`. */
export const ACKNOWLEDGED_EVERY = 2;
/** Deadline of that operation. It tells a slow server from one that hangs. */
const FIRST_ANSWER_MS = 60_000;
/** Longest that they go on beside a new engine host. */
const AFTERLOAD_MS = 100;
const BOOT_KILL_SHARE = 0.25;
/** So often a folder that was never used is killed while its first server starts. */
const FRESH_EVERY = 25;
const FRESH_KILLS = 2;
/** So often the records that nobody changes are read too; else they are counted, and searches find them. */
const BASE_EVERY = 10;
/** Every so many kills of the group, its files are gone through before the next start. */
const DOCTOR_EVERY = 4;
/** Of the writers' own. */
const SEARCHED_COLLECTIONS = 2;

export interface TortureOptions {
  readonly cycles: number;
  readonly seed: number;
  readonly writers: number;
  readonly kill: Victim | "mixed";
  /** As `SHEAF_INDEX_FILES`. */
  readonly indexFiles: string;
  /** As `TorturedOptions` has it. */
  readonly sharedStores: string;
  /** Index files are damaged before each cycle, while the server uses them. */
  readonly losesIndexFiles: boolean;
  /** Data folder; it must be empty. */
  readonly data: string;
  /** Removes a folder that is not needed any more. */
  readonly discard: (folder: string) => Promise<void>;
  readonly tally: Tally;
  readonly onCycle?: (cycle: CycleReport) => void;
}

export interface CycleReport {
  readonly cycle: number;
  readonly victim: Victim;
  /** From the start of the writers, or from their first acknowledged operation, to the kill. */
  readonly killedAfterMs: number;
  readonly acknowledged: number;
  readonly unknown: number;
  readonly ms: number;
}

/** Resolves when all cycles went well; throws the first `Violation`, with the server ended and the data left. */
export async function torture(options: TortureOptions): Promise<void> {
  const run = new TortureRun(options);
  try {
    await run.begin();
    for (let cycle = 1; cycle <= options.cycles; cycle++) await run.cycle(cycle);
    await run.end();
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    const { seed, data, tally } = options;
    throw new Violation(`cycle ${tally.cycles + 1}, seed ${seed}, data kept in ${data}: ${error.message}`);
  } finally {
    await run.abandon();
  }
}

class TortureRun {
  readonly #options: TortureOptions;
  readonly #tally: Tally;
  #server: TorturedServer | null = null;
  #writers: readonly Writer[] = [];
  #sharedIds: ReadonlyMap<string, string> = new Map();
  /** How long the newest start took; kills while starting fall into as long a time. */
  #bootMs = LOAD_MS;

  constructor(options: TortureOptions) {
    this.#options = options;
    this.#tally = options.tally;
  }

  async begin(): Promise<void> {
    const choices = new Choices(this.#options.seed, "begin");
    for (let kill = 0; kill < FRESH_KILLS; kill++) await this.#killBoot(this.#options.data, choices);
    await this.#boot(choices, 0);
    this.#sharedIds = await makeShared(this.#running);
    const { writers, seed } = this.#options;
    this.#writers = Array.from(
      { length: writers },
      (_, i) => new Writer({ owner: `w${i}`, seed, sharedIds: this.#sharedIds, tally: this.#tally }),
    );
  }

  async cycle(cycle: number): Promise<void> {
    const { seed, kill, data, losesIndexFiles, onCycle } = this.#options;
    const started = performance.now();
    const before = {
      acknowledged: this.#tally.operations("acknowledged"),
      unknown: this.#tally.operations("unknown"),
    };
    const choices = new Choices(seed, `cycle/${cycle}`);
    const victim = kill === "mixed" ? VICTIMS[cycle % VICTIMS.length]! : kill;
    const killedAfterMs = choices.unit() * LOAD_MS;
    if (losesIndexFiles) this.#tally.lostFiles += await loseIndexFiles(data, choices);
    const stop = new AbortController();
    const running = this.#load(cycle, stop.signal);
    if (cycle % ACKNOWLEDGED_EVERY === 0) await this.#untilAcknowledged(before.acknowledged);
    await Promise.race([running, sleep(killedAfterMs)]);
    if (victim === "host") await this.#killHost(choices, { running, stop });
    else await this.#killGateway(victim, choices, running);
    await this.#check(cycle, choices);
    if (cycle % FRESH_EVERY === 0) await this.#tortureFresh(choices);
    this.#tally.cycles += 1;
    onCycle?.({
      cycle,
      victim,
      killedAfterMs,
      acknowledged: this.#tally.operations("acknowledged") - before.acknowledged,
      unknown: this.#tally.operations("unknown") - before.unknown,
      ms: performance.now() - started,
    });
  }

  async end(): Promise<void> {
    await this.#running.stop();
    this.#server = null;
    await this.#examine();
  }

  /** Leaves nothing running. */
  async abandon(): Promise<void> {
    await this.#server?.kill("group");
  }

  get #running(): TorturedServer {
    if (this.#server === null) throw new Error("there is no server");
    return this.#server;
  }

  /** All writers and the reader beside them, until they are told to stop or the gateway dies. */
  async #load(cycle: number, stop: AbortSignal): Promise<void> {
    const server = this.#running;
    const watcher = {
      collections: [...this.#sharedIds.values()],
      owners: this.#writers.map(({ owner }) => owner),
      choices: new Choices(this.#options.seed, `watcher/${cycle}`),
      tally: this.#tally,
    };
    await Promise.all([
      ...this.#writers.map((writer) => writer.run(server, cycle, stop)),
      watchGroups(server, watcher, stop),
    ]);
  }

  /** Until more operations than `count` are acknowledged. */
  async #untilAcknowledged(count: number): Promise<void> {
    const deadline = performance.now() + FIRST_ANSWER_MS;
    while (this.#tally.operations("acknowledged") <= count) {
      if (performance.now() > deadline)
        throw new Violation(`no operation was acknowledged in ${FIRST_ANSWER_MS} ms`);
      await sleep(1);
    }
  }

  async #killHost(
    choices: Choices,
    { running, stop }: { readonly running: Promise<void>; readonly stop: AbortController },
  ): Promise<void> {
    const server = this.#running;
    let killedAt = await this.#killOnce(server, "host", "load");
    if (choices.chance(BOOT_KILL_SHARE)) {
      await sleep((choices.unit() * this.#bootMs) / 2);
      killedAt = (await this.#killOnce(server, "host", "boot")) ?? killedAt;
    }
    await Promise.race([running, server.untilAnswered(PROBE)]);
    if (killedAt !== null) this.#tally.recoveryMs.push(performance.now() - killedAt);
    await Promise.race([running, sleep(choices.unit() * AFTERLOAD_MS)]);
    stop.abort();
    await running;
  }

  async #killGateway(
    victim: Exclude<Victim, "host">,
    choices: Choices,
    running: Promise<void>,
  ): Promise<void> {
    await this.#killOnce(this.#running, victim, "load");
    await running;
    if (victim === "group" && this.#tally.kills(victim, "load") % DOCTOR_EVERY === 0) await this.#examine();
    await this.#boot(choices, BOOT_KILL_SHARE);
  }

  async #examine(): Promise<void> {
    const { data, losesIndexFiles } = this.#options;
    await checkFiles(data, { indexes: !losesIndexFiles });
    this.#tally.examinations += 1;
  }

  /** When it was killed; `null`: there was nothing to kill. */
  async #killOnce(server: TorturedServer, victim: Victim, moment: "load" | "boot"): Promise<number | null> {
    const at = performance.now();
    if (!(await server.kill(victim))) return null;
    this.#tally.kill(victim, moment);
    return at;
  }

  /** Starts the next server, which may be killed at it before it succeeds. */
  async #boot(choices: Choices, killShare: number): Promise<void> {
    this.#server = null;
    while (choices.chance(killShare)) await this.#killBoot(this.#options.data, choices);
    const started = performance.now();
    this.#server = await TorturedServer.boot(this.#options.data, this.#options);
    this.#bootMs = performance.now() - started;
    this.#tally.bootMs.push(this.#bootMs);
  }

  async #killBoot(data: string, choices: Choices): Promise<void> {
    const { kill } = this.#options;
    const victim = kill === "gateway" || kill === "group" ? kill : choices.one(["gateway", "group"] as const);
    const server = await TorturedServer.launch(data, this.#options);
    await sleep(choices.unit() * this.#bootMs);
    await this.#killOnce(server, victim, "boot");
  }

  /** Everything that is on the server, against everything that the logs say. */
  async #check(cycle: number, choices: Choices): Promise<void> {
    const server = this.#running;
    const { data } = this.#options;
    const secrets = this.#writers.flatMap((writer) => writer.secrets);
    const state = await observe(server, { owner: null, secrets, base: cycle % BASE_EVERY === 0 });
    for (const writer of this.#writers) writer.settle(state);
    checkTotals(state, this.#writers);
    await checkFolders(data, state);
    const isShared = ({ name }: { readonly name: string }): boolean => this.#sharedIds.has(name);
    const own = state.collections.filter((collection) => !isShared(collection));
    const searched = [...state.collections.filter(isShared), ...choices.some(own, SEARCHED_COLLECTIONS)];
    const counts = await Promise.all(
      searched.map((collection) => checkSearches(server, collection, choices)),
    );
    this.#tally.searches += counts.reduce((sum, count) => sum + count, 0);
    await server.checkProcesses();
    server.checkLog();
  }

  /** A folder of its own: the kill may fall on what is made once. */
  async #tortureFresh(choices: Choices): Promise<void> {
    const data = await temporaryFolder();
    for (let kill = 0; kill < FRESH_KILLS; kill++) await this.#killBoot(data, choices);
    const server = await TorturedServer.boot(data, this.#options);
    try {
      await ask(server, { method: "POST", path: COLLECTIONS, json: { name: "first" } });
      await server.stop();
    } finally {
      await server.kill("group");
    }
    await this.#options.discard(data);
  }
}

/** Makes the collections that are there before the first writer, the small one in partitions. */
export async function makeShared(server: Target, partitions = 1): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>();
  for (const name of Object.values(SHARED)) {
    const json = collectionBody(name, "bm25 cosine", 100, name === SHARED.small ? partitions : 1);
    const { id } = await ask<{ id: string }>(server, { method: "POST", path: COLLECTIONS, json });
    ids.set(name, id);
  }
  const path = `${COLLECTIONS}/${ids.get(SHARED.large)}/add`;
  await ask(server, { method: "POST", path, json: columnsOf(BASE_RECORDS) });
  return ids;
}

/** Beside what the writers' logs say, the shared collections and the keys hold nothing, and nothing is missing. */
export function checkTotals({ collections, keys }: ServerState, writers: readonly Writer[]): void {
  for (const { name, records } of collections) {
    if (!SHARED_NAMES.includes(name)) continue;
    const own = writers.reduce((sum, writer) => sum + writer.recordsIn(name), 0);
    const expected = own + (name === SHARED.large ? BASE_RECORDS.length : 0);
    if (records.length === expected) continue;
    throw new Violation(`${name}: the logs say ${expected} records, the server says ${records.length}`);
  }
  const owners = new Set(writers.map(({ owner }) => owner));
  const strange = [...collections, ...keys]
    .map(({ name }) => name)
    .filter((name) => !SHARED_NAMES.includes(name) && !owners.has(name.split("-")[0] ?? ""));
  if (strange.length > 0) throw new Violation("the server has what nobody made", strange);
}
