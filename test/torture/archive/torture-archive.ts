/**
 * Kills a server with an archive in the middle of mixed writes, at random moments and at those at which a file of the archive
 * ends, a collection is forked, dropped or leaves a shared environment, and makes backups meanwhile. Then it follows the archive
 * from one of them to random positions and times: what is restored has to be what was acknowledged by then.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { listSegments } from "../../../packages/engine/src/archive/archive-format.ts";
import { type ReplayTarget, planReplay } from "../../../packages/engine/src/archive/plan-replay.ts";
import { readArchive } from "../../../packages/engine/src/archive/read-archive.ts";
import { type BackupHeader, isBackup, readHeader } from "../../../packages/engine/src/backup/backup-files.ts";
import { restoreBackup } from "../../../packages/engine/src/backup/restore-backup.ts";
import { ServedSheaf, descendants } from "../../e2e/testing/served-sheaf.ts";
import { Choices } from "../choices.ts";
import { Violation } from "../violation.ts";
import { KILL_MOMENTS, type KillMoment, MomentWatch } from "./kill-moment.ts";
import { Lane } from "./lane.ts";
import { SHARED_RECORDS } from "./lane-operations.ts";

const BACKUPS = "/api/v2/backups";
const LANES = 4;
/** Small, so that files of the archive end all the time. */
const FILE_BYTES = 8_192;
/** Writes that are acknowledged before the kill is prepared. */
const MOST_BEFORE_KILL = 60;
const RESTORES = 2;
const MOST_BASES = 4;
/** Cycles between two backups that nothing is killed beside. */
const CALM_EVERY = 4;
const BACKUP_SHARE = 0.4;
const POLL_MS = 10;
const DEADLINE_MS = 60_000;

export interface ArchiveTortureOptions {
  readonly cycles: number;
  readonly seed: number;
  /** For the data, the archive, the backups and what is restored. */
  readonly folder: string;
  readonly onCycle?: (report: ArchiveCycle) => void;
}

export interface ArchiveCycle {
  readonly cycle: number;
  readonly moment: KillMoment | "none";
  readonly victim: "engine host" | "server" | "none";
  readonly acknowledged: number;
  readonly restored: readonly string[];
}

export interface ArchiveTally {
  readonly acknowledged: number;
  readonly restored: number;
  readonly bases: number;
}

interface Base {
  readonly path: string;
  readonly header: BackupHeader;
}

/** Throws a `Violation` at the first broken promise. */
export async function tortureArchive(options: ArchiveTortureOptions): Promise<ArchiveTally> {
  const run = new ArchiveTorture(options);
  try {
    return await run.all();
  } finally {
    await run.end();
  }
}

class ArchiveTorture {
  readonly #options: ArchiveTortureOptions;
  readonly #choices: Choices;
  readonly #lanes: readonly Lane[];
  #server: ServedSheaf | null = null;
  #bases: Base[] = [];
  #tally = { restored: 0, bases: 0 };
  #backups = 0;

  constructor(options: ArchiveTortureOptions) {
    this.#options = options;
    this.#choices = new Choices(options.seed, "archive");
    this.#lanes = Array.from(
      { length: LANES },
      (_, i) => new Lane(`lane-${i}`, new Choices(options.seed, `lane ${i}`)),
    );
  }

  async all(): Promise<ArchiveTally> {
    await this.#boot();
    for (const lane of this.#lanes) await lane.make(this.#served);
    for (let cycle = 0; cycle < this.#options.cycles; cycle++) await this.#cycle(cycle);
    return { acknowledged: this.#acknowledged, ...this.#tally };
  }

  async end(): Promise<void> {
    await this.#server?.stop();
  }

  get #served(): ServedSheaf {
    if (this.#server === null) throw new Error("no server was started");
    return this.#server;
  }

  get #acknowledged(): number {
    return this.#lanes.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  }

  get #archive(): string {
    return join(this.#options.folder, "archive");
  }

  async #boot(): Promise<void> {
    const { folder } = this.#options;
    this.#server = await ServedSheaf.start({
      data: join(folder, "data"),
      args: ["--backup-folder", join(folder, "backups"), "--archive", this.#archive],
      env: {
        SHEAF_INDEX_FILES: "32/256",
        SHEAF_SHARED_STORES: `${SHARED_RECORDS}/65536`,
        SHEAF_ARCHIVE_FILE: String(FILE_BYTES),
      },
      group: true,
    });
  }

  async #cycle(cycle: number): Promise<void> {
    const before = this.#acknowledged;
    const isCalm = cycle % CALM_EVERY === 0;
    const moment = isCalm ? "none" : this.#choices.one(KILL_MOMENTS);
    const victim = isCalm ? "none" : this.#choices.one(["engine host", "server"] as const);
    const backup = isCalm || this.#choices.chance(BACKUP_SHARE) ? await this.#beginBackup() : null;
    const kill = new MomentWatch(isCalm ? "random" : (moment as KillMoment), this.#archive, this.#choices);
    const stop = new AbortController();
    const running = Promise.all(
      this.#lanes.map((lane) => lane.run(this.#served, stop.signal, (kind) => kill.sent(kind))),
    );
    running.catch(() => undefined);
    await Promise.race([running, this.#untilAcknowledged(before + this.#choices.below(MOST_BEFORE_KILL))]);
    await kill.wait();
    if (victim === "none") await this.#untilComplete(backup!);
    else await this.#kill(victim);
    stop.abort();
    await running;
    for (const lane of this.#lanes) await this.#settled(lane);
    if (backup !== null && isBackup(backup)) await this.#take(backup);
    const restored: string[] = [];
    for (let i = 0; i < RESTORES; i++) restored.push(await this.#restore());
    const acknowledged = this.#acknowledged - before;
    this.#options.onCycle?.({ cycle, moment, victim, acknowledged, restored });
  }

  async #untilAcknowledged(count: number): Promise<void> {
    const until = performance.now() + DEADLINE_MS;
    while (this.#acknowledged < count) {
      if (performance.now() > until)
        throw new Violation(`writes are not acknowledged within ${DEADLINE_MS} ms`, [this.#served.output]);
      await sleep(1);
    }
  }

  /** Its path. */
  async #beginBackup(): Promise<string> {
    const name = `backup-${this.#backups++}`;
    const newest = this.#bases.at(-1)?.path.split("/").at(-1) ?? null;
    const incremental = this.#choices.chance(0.5) ? newest : null;
    await this.#served.ask(BACKUPS, { name, incremental, keys: true });
    return join(this.#options.folder, "backups", name);
  }

  async #untilComplete(backup: string): Promise<void> {
    const name = backup.split("/").at(-1)!;
    const until = performance.now() + DEADLINE_MS;
    for (;;) {
      const { state, error } = await this.#served.ask<BackupReply>(`${BACKUPS}/${name}`);
      if (state === "complete") return;
      if (state === "failed" || performance.now() > until)
        throw new Violation(`backup ${name} is ${state}, and nothing was killed: ${error}`);
      await sleep(POLL_MS);
    }
  }

  async #take(path: string): Promise<void> {
    this.#bases.push({ path, header: await readHeader(path) });
    this.#tally.bases += 1;
    this.#bases = this.#bases.slice(-MOST_BASES);
    for (const lane of this.#lanes) lane.forgetBefore(this.#bases[0]!.header.started);
  }

  async #kill(victim: "engine host" | "server"): Promise<void> {
    const server = this.#served;
    if (victim === "engine host") {
      const found = (await descendants(server.pid)).find(({ command }) => command.includes("engine-host"));
      if (found !== undefined) process.kill(found.pid, "SIGKILL");
      return;
    }
    const exited = new Promise((resolve) => server.process.once("exit", resolve));
    process.kill(-server.pid, "SIGKILL");
    await exited;
    await this.#boot();
  }

  /** The engine host may be starting. */
  async #settled(lane: Lane): Promise<void> {
    const until = performance.now() + DEADLINE_MS;
    for (;;) {
      try {
        return await lane.settle(this.#served);
      } catch (error) {
        if (error instanceof Violation || performance.now() > until) throw error;
        await sleep(POLL_MS);
      }
    }
  }

  /** In words. */
  async #restore(): Promise<string> {
    const { folder } = this.#options;
    const base = this.#choices.one(this.#bases);
    const end = planReplay(this.#archive, base.header, null).end;
    const { target, until, words } = this.#chooseTarget(base, end);
    const what = `${base.path.split("/").at(-1)} up to ${words}`;
    const data = join(folder, "restored");
    await restoreBackup({
      ...{ backup: base.path, dataFolder: data, tenant: null },
      archive: { folder: this.#archive, until: target },
    });
    const server = await ServedSheaf.start({ data });
    try {
      for (const lane of this.#lanes) lane.check(await lane.read(server), until, what);
    } finally {
      await server.stop();
      await rm(data, { recursive: true, force: true });
    }
    this.#tally.restored += 1;
    return what;
  }

  #chooseTarget({ header }: Base, end: number): ChosenTarget {
    const first = header.archive!.to;
    const kind = this.#choices.weighted({ end: 1, position: 2, roll: 2, time: 2 });
    if (kind === "end") return { target: null, until: Number.POSITIVE_INFINITY, words: "the end" };
    if (kind === "time") {
      const time = header.finished + this.#choices.below(Date.now() - header.finished + 1);
      return { target: { time }, until: time, words: new Date(time).toISOString() };
    }
    const rolls = listSegments(this.#archive).filter((segment) => segment.first > first);
    const near = kind === "roll" && rolls.length > 0;
    // The first entry of a file, or the last one of the file before.
    const chosen = near
      ? this.#choices.one(rolls).first - this.#choices.below(2)
      : first + this.#choices.below(end - first + 1);
    const position = Math.min(Math.max(chosen, first), end);
    const until = timeOf(this.#archive, position);
    return {
      target: { position },
      until,
      words: `entry ${position} of ${end}${near ? ", where a file ends" : ""}`,
    };
  }
}

interface BackupReply {
  readonly state: "running" | "complete" | "failed";
  readonly error: string | null;
}

interface ChosenTarget {
  readonly target: ReplayTarget;
  /** Milliseconds since 1970. */
  readonly until: number;
  readonly words: string;
}

function timeOf(archive: string, position: number): number {
  for (const entry of readArchive(archive, position - 1)) return entry.time;
  throw new Violation(`the archive has no entry ${position}`);
}
