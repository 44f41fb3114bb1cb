/**
 * Makes backups, whole and incremental ones in turn, of a server that is written to, and kills what makes them, the engine host
 * or the whole server on the way. A backup that is complete has to hold, after its restore, the state of each collection at its
 * sequence number; one that is not complete has to say so, and must not be in the way of the next one.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readCollections, readHeader } from "../../../packages/engine/src/backup/backup-files.ts";
import { restoreBackup } from "../../../packages/engine/src/backup/restore-backup.ts";
import { verifyBackup } from "../../../packages/engine/src/backup/verify-backup.ts";
import { ServedSheaf, descendants } from "../../e2e/testing/served-sheaf.ts";
import { Choices } from "../choices.ts";
import { Violation } from "../violation.ts";
import { Journal, type Records, embeddingOf } from "./journal.ts";

const DATABASE = "/api/v2/tenants/default_tenant/databases/default_database";
const BACKUPS = "/api/v2/backups";
const COLLECTIONS = 3;
const LONGEST_MS = 1_200;
const NEAREST = 10;
const MOST_VALUES = 1_000;
/** Of 32-bit numbers. */
const ROUNDING = 1e-4;
const POLL_MS = 10;
const DEADLINE_MS = 60_000;

export type BackupVictim = "none" | "backup process" | "engine host" | "server";
const VICTIMS: readonly BackupVictim[] = ["none", "backup process", "engine host", "server"];

export interface BackupTortureOptions {
  readonly cycles: number;
  readonly seed: number;
  /** For the data, the backups and what is restored. */
  readonly folder: string;
  readonly onCycle?: (cycle: number, victim: BackupVictim, complete: boolean) => void;
}

export interface BackupTally {
  readonly complete: number;
  readonly incremental: number;
  /** Of those that were to be killed, the ones that were not complete before. */
  readonly killed: number;
}

interface Status {
  readonly state: "running" | "complete" | "failed";
  readonly damaged: number;
}

/** Throws a `Violation` at the first broken promise. */
export async function tortureBackups(options: BackupTortureOptions): Promise<BackupTally> {
  const run = new BackupTorture(options);
  try {
    return await run.all();
  } finally {
    await run.end();
  }
}

class BackupTorture {
  readonly #options: BackupTortureOptions;
  readonly #choices: Choices;
  readonly #tally = { complete: 0, incremental: 0, killed: 0 };
  #server: ServedSheaf | null = null;
  #journals: readonly Journal[] = [];
  /** The newest complete one. */
  #base: string | null = null;

  constructor(options: BackupTortureOptions) {
    this.#options = options;
    this.#choices = new Choices(options.seed, "backups");
  }

  async all(): Promise<BackupTally> {
    await this.#boot();
    this.#journals = await Promise.all(Array.from({ length: COLLECTIONS }, (_, i) => this.#newJournal(i)));
    for (let cycle = 0; cycle < this.#options.cycles; cycle++) await this.#cycle(cycle);
    return this.#tally;
  }

  async end(): Promise<void> {
    await this.#server?.stop();
  }

  async #boot(): Promise<ServedSheaf> {
    const { folder } = this.#options;
    const server = await ServedSheaf.start({
      data: join(folder, "data"),
      args: ["--backup-folder", join(folder, "backups")],
      env: { SHEAF_INDEX_FILES: "32/256" },
      group: true,
    });
    this.#server = server;
    return server;
  }

  async #newJournal(i: number): Promise<Journal> {
    const { id } = await this.#served().ask<{ readonly id: string }>(`${DATABASE}/collections`, {
      name: `collection-${i}`,
    });
    return new Journal(id, `${DATABASE}/collections/${id}`, new Choices(this.#options.seed, `writer ${i}`));
  }

  #served(): ServedSheaf {
    if (this.#server === null) throw new Error("no server was started");
    return this.#server;
  }

  async #cycle(cycle: number): Promise<void> {
    const victim = VICTIMS[cycle % VICTIMS.length] ?? "none";
    const stop = new AbortController();
    const writers = this.#journals.map((journal) => journal.write(this.#served(), stop.signal));
    await sleep(this.#choices.below(200));
    const name = `backup-${cycle}`;
    const incremental = this.#choices.chance(0.5) ? this.#base : null;
    const started = await this.#served().request(BACKUPS, { json: { name, incremental } });
    if (started.status !== 202)
      throw new Violation(`a backup is not begun: ${started.status}`, [await started.text()]);
    if (victim !== "none") {
      await sleep(this.#choices.below(LONGEST_MS));
      await this.#kill(victim);
    }
    const complete = await this.#isComplete(name);
    stop.abort();
    await Promise.all(writers);
    if (complete) await this.#check(name, incremental);
    else if (victim === "none")
      throw new Violation(`backup ${name} failed, and nothing was killed`, [this.#served().output]);
    else this.#tally.killed += 1;
    for (const journal of this.#journals) await settled(journal, this.#served());
    this.#options.onCycle?.(cycle, victim, complete);
  }

  async #kill(victim: BackupVictim): Promise<void> {
    const server = this.#served();
    const module = victim === "backup process" ? "backup-process" : "engine-host";
    if (victim !== "server") {
      const found = (await descendants(server.pid)).find(({ command }) => command.includes(module));
      if (found !== undefined) killed(found.pid);
      return;
    }
    const exited = new Promise((resolve) => server.process.once("exit", resolve));
    killed(-server.pid);
    await exited;
    await this.#boot();
  }

  /** Waits until it is, or is not any more. */
  async #isComplete(name: string): Promise<boolean> {
    const until = performance.now() + DEADLINE_MS;
    while (performance.now() < until) {
      const answer = await this.#served().request(`${BACKUPS}/${name}`);
      const body = await answer.text();
      if (answer.status === 404) return false;
      if (answer.ok) {
        const { state, damaged } = JSON.parse(body) as Status;
        if (damaged > 0) throw new Violation(`backup ${name} could not copy ${damaged} sound collections`);
        if (state !== "running") return state === "complete";
      }
      await sleep(POLL_MS);
    }
    throw new Violation(`backup ${name} did not end within ${DEADLINE_MS} ms`, [this.#served().output]);
  }

  async #check(name: string, incremental: string | null): Promise<void> {
    const { folder } = this.#options;
    const backup = join(folder, "backups", name);
    const { problems, missing } = await verifyBackup(backup);
    if (problems.length + missing.length > 0)
      throw new Violation(`backup ${name} is damaged`, [...problems, ...missing]);
    const data = join(folder, "restored");
    await restoreBackup({ backup, dataFolder: data, tenant: null });
    const restored = await ServedSheaf.start({ data });
    try {
      const header = await readHeader(backup);
      for await (const { id, sequence } of readCollections({ folder: backup, header }))
        await this.#compare(restored, id, sequence);
    } finally {
      await restored.stop();
      await rm(data, { recursive: true, force: true });
    }
    this.#base = name;
    this.#tally.complete += 1;
    this.#tally.incremental += incremental === null ? 0 : 1;
  }

  async #compare(restored: ServedSheaf, id: string, sequence: number): Promise<void> {
    const journal = this.#journals.find((one) => one.id === id);
    const expected = journal?.stateAt(sequence);
    if (expected === undefined || expected === null)
      throw new Violation(`collection ${id} was copied at ${sequence}, which nobody wrote`);
    const { ids, metadatas } = await restored.ask<{
      readonly ids: readonly string[];
      readonly metadatas: readonly { readonly value: number }[];
    }>(`${DATABASE}/collections/${id}/get`, { include: ["metadatas"] });
    const wrong = ids.filter((one, i) => expected.get(one) !== metadatas[i]?.value);
    if (wrong.length > 0 || ids.length !== expected.size)
      throw new Violation(
        `collection ${id} at ${sequence}: ${ids.length} records of ${expected.size}`,
        wrong,
      );
    await this.#compareAnswers(restored, id, expected);
  }

  /** So few records are searched exactly: the nearest ones are those of a plain comparison with all. */
  async #compareAnswers(restored: ServedSheaf, id: string, expected: Records): Promise<void> {
    const query = embeddingOf(this.#choices.below(MOST_VALUES));
    const { distances } = await restored.ask<{ readonly distances: readonly (readonly number[])[] }>(
      `${DATABASE}/collections/${id}/query`,
      { query_embeddings: [query], n_results: NEAREST, include: ["distances"] },
    );
    const all = [...expected.values()].map((value) => squaredDistance(query, embeddingOf(value)));
    const nearest = all.toSorted((a, b) => a - b).slice(0, NEAREST);
    const found = distances[0] ?? [];
    const isSame =
      found.length === nearest.length && found.every((one, i) => Math.abs(one - nearest[i]!) < ROUNDING);
    if (!isSame)
      throw new Violation(`collection ${id}: a search does not find the nearest`, [
        `found: ${found.join(" ")}`,
        `nearest: ${nearest.join(" ")}`,
      ]);
  }
}

function squaredDistance(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, i) => sum + (value - other[i]!) ** 2, 0);
}

/** The engine may be starting. */
async function settled(journal: Journal, server: ServedSheaf): Promise<void> {
  const until = performance.now() + DEADLINE_MS;
  for (;;) {
    try {
      return await journal.settle(server);
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(POLL_MS);
    }
  }
}

function killed(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // It had ended by itself.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
