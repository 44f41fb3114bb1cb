/**
 * Writes an archive: entries get their positions in the order in which they come, and several of them share a write and a
 * sync. An entry that could not be written is tried again until it can be, before any later one, so that there is never a
 * gap; meanwhile nothing new is taken.
 */
import { type FileHandle, open, rm } from "node:fs/promises";
import { mkdirSync, truncateSync, rmSync, statSync } from "node:fs";
import { crc32 } from "node:zlib";
import { SheafError } from "@sheaf/protocol";
import { type DiskSpace, isDiskFull } from "../storage/folder/disk-space.ts";
import { OWNER_ONLY_FILE } from "../storage/folder/restrict-access.ts";
import { syncFile } from "../storage/folder/sync-files.ts";
import { isInSteps, runInTurns } from "../storage/steps.ts";
import { type EncodedBody, encodeClock } from "./archive-entries.ts";
import {
  ENTRY_KIND,
  type EntryKind,
  SEGMENT_HEADER_BYTES,
  encodeEntryHeader,
  encodeSegmentHeader,
  segmentPath,
} from "./archive-format.ts";
import type { ArchiveEnd } from "./read-archive.ts";

const SEGMENT_BYTES = 64 * 2 ** 20;
/** A segment is removed as a whole, so none spans a long time. */
const SEGMENT_MS = 3_600_000;
/** Of entries that share a sync. */
const GROUP_BYTES = 8 * 2 ** 20;
const GROUP_ENTRIES = 1_024;
const RETRY_MS = 1_000;
/** A clock that is set back by less has been corrected a little. */
const CLOCK_STEP_MS = 10_000;

export interface ArchiveLogOptions {
  readonly folder: string;
  readonly chain: string;
  /** Where the archive ends now. */
  readonly end: ArchiveEnd;
  readonly onProblem: (error: unknown) => void;
  /** Told where the clock was set back. */
  readonly onNews?: (message: string) => void;
  /** A segment was ended. */
  readonly onSegment: () => void;
  readonly segmentBytes?: number | undefined;
  /** Its own, which others take room of before what they write is appended. */
  readonly disk: DiskSpace;
}

interface Waiting {
  readonly kind: EntryKind;
  readonly body: () => EncodedBody;
  readonly position: number;
  readonly time: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface AppendedEntry {
  readonly position: number;
  readonly durable: Promise<void>;
}

interface Encoded {
  readonly bytes: readonly Uint8Array[];
  readonly position: number;
  readonly waiting: Waiting;
}

interface OpenSegment {
  readonly file: FileHandle;
  readonly startedAt: number;
  bytes: number;
}

export class ArchiveLog {
  readonly #options: ArchiveLogOptions;
  readonly #queue: Waiting[] = [];
  /** Encoded, and not known to be on disk. */
  #group: Encoded[] = [];
  #chain: string;
  #position: number;
  #durable: number;
  #time: number;
  /** What the clock said when that was noted last; `null`: it is not behind the time of the entries. */
  #noted: number | null = null;
  #segment: OpenSegment | null = null;
  #failure: unknown = null;
  #running: Promise<void> | null = null;
  #retry: NodeJS.Timeout | null = null;
  #closed = false;
  /** Of the newest entry. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: ArchiveLogOptions) {
    const { folder, end } = options;
    this.#options = options;
    this.#chain = options.chain;
    this.#position = this.#durable = end.position;
    this.#time = end.time ?? 0;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // What a write that was interrupted has left is cut off, for another segment comes behind it.
    if (end.segment !== null && end.problem === null && statSync(end.segment).size > end.bytes)
      truncateSync(end.segment, end.bytes);
    rmSync(segmentPath(folder, end.position + 1), { force: true });
  }

  /** Of the newest entry. */
  get position(): number {
    return this.#position;
  }

  /** What comes from now on is of another chain. Before anything is appended. */
  renew(chain: string): void {
    this.#chain = chain;
  }

  /** Of the newest entry that is on disk, as all before it are. */
  get durable(): number {
    return this.#durable;
  }

  /** For how long the oldest entry that is not on disk has been waiting. */
  get lagMs(): number {
    const oldest = this.#group[0]?.waiting ?? this.#queue[0];
    return oldest === undefined ? 0 : Math.max(0, Date.now() - oldest.time);
  }

  /** Or what adds data is refused, for the reserve of its disk is all that is free. */
  get isFailing(): boolean {
    return this.#failure !== null || this.#options.disk.problem() !== null;
  }

  /** Throws 503 or 507 while entries cannot be written. */
  requireWorking(): void {
    if (this.#failure !== null) throw refusal(this.#failure);
  }

  /**
   * Its position, at once. `durable` rejects where it could not be written; it is written later then, unless the process ends
   * before.
   */
  append(kind: EntryKind, body: () => EncodedBody): AppendedEntry {
    const now = Date.now();
    this.#watchClock(now);
    this.#time = Math.max(this.#time, now);
    return this.#push(kind, body);
  }

  /** Until the entries so far are on disk. Rejects where one cannot be written. */
  async flush(): Promise<void> {
    await this.#last;
  }

  /** After the entries that were appended, as far as they can be written. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    while (this.#running !== null) await this.#running;
    await this.#segment?.file.close();
    this.#segment = null;
  }

  /**
   * Times of entries never fall, so until a clock that was ahead is passed, all have the time that it had. What the clock says
   * meanwhile is noted among them.
   */
  #watchClock(now: number): void {
    if (now >= this.#time - (this.#noted === null ? CLOCK_STEP_MS : 0)) {
      this.#noted = null;
      return;
    }
    if (this.#noted === null) {
      const ahead = new Date(this.#time).toISOString();
      this.#options.onNews?.(
        `the clock was set back: entries of the archive from ${this.#position + 1} on have the time ${ahead} until it is past that; restore moments before that by the number of an entry`,
      );
    }
    if (this.#noted !== now) this.#push(ENTRY_KIND.void, () => encodeClock(now));
    this.#noted = now;
  }

  #push(kind: EntryKind, body: () => EncodedBody): AppendedEntry {
    const position = ++this.#position;
    const durable = new Promise<void>((resolve, reject) => {
      this.#queue.push({ kind, body, position, time: this.#time, resolve, reject });
    });
    this.#last = durable;
    // Whoever waits for it may do so later.
    durable.catch(() => undefined);
    this.#start();
    return { position, durable };
  }

  #start(): void {
    if (this.#running !== null || this.#retry !== null) return;
    this.#running = this.#run().finally(() => {
      this.#running = null;
      // One may have come after the last look.
      if (this.#failure === null && this.#queue.length > 0) this.#start();
    });
  }

  async #run(): Promise<void> {
    // Entries of one turn share a sync.
    await Promise.resolve();
    try {
      while (this.#group.length > 0 || this.#queue.length > 0) {
        if (this.#group.length === 0) await this.#encodeGroup();
        await this.#writeGroup();
        this.#failure = null;
        const written = this.#group;
        this.#group = [];
        for (const { waiting } of written) waiting.resolve();
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  async #encodeGroup(): Promise<void> {
    let bytes = 0;
    while (this.#queue.length > 0 && bytes < GROUP_BYTES && this.#group.length < GROUP_ENTRIES) {
      const waiting = this.#queue[0]!;
      const encoded = await encode(waiting);
      this.#queue.shift();
      this.#group.push({ bytes: encoded, position: waiting.position, waiting });
      bytes += sum(encoded);
    }
  }

  async #writeGroup(): Promise<void> {
    const segment = (this.#segment ??= await this.#newSegment(this.#group[0]!.position));
    const bytes = this.#group.flatMap((one) => one.bytes);
    await writeAll(segment.file, bytes, segment.bytes);
    await segment.file.datasync();
    segment.bytes += sum(bytes);
    this.#durable = this.#group.at(-1)!.position;
    const { segmentBytes = SEGMENT_BYTES } = this.#options;
    if (segment.bytes < segmentBytes && Date.now() - segment.startedAt < SEGMENT_MS) return;
    this.#segment = null;
    await segment.file.close();
    this.#options.onSegment();
  }

  async #newSegment(first: number): Promise<OpenSegment> {
    const { folder } = this.#options;
    const chain = this.#chain;
    const path = segmentPath(folder, first);
    // Two servers with one archive meet here.
    const file = await open(path, "wx", OWNER_ONLY_FILE);
    try {
      await writeAll(file, [encodeSegmentHeader({ chain, first })], 0);
      await file.datasync();
      await syncFile(folder);
    } catch (error) {
      await file.close();
      await rm(path, { force: true });
      throw error;
    }
    return { file, startedAt: Date.now(), bytes: SEGMENT_HEADER_BYTES };
  }

  #fail(error: unknown): void {
    if (this.#failure === null) this.#options.onProblem(error);
    this.#failure = error;
    for (const { waiting } of this.#group) waiting.reject(refusal(error));
    for (const { reject } of this.#queue) reject(refusal(error));
    if (this.#closed) return;
    this.#retry = setTimeout(() => {
      this.#retry = null;
      this.#start();
    }, RETRY_MS).unref();
  }
}

async function encode({ kind, body, position, time }: Waiting): Promise<readonly Uint8Array[]> {
  const steps = body();
  const parts = isInSteps(steps) ? await runInTurns(steps) : steps;
  let bodyCrc = 0;
  for (const part of parts) bodyCrc = crc32(part, bodyCrc);
  const header = encodeEntryHeader({ bodyBytes: sum(parts), bodyCrc, position, time, kind });
  return [header, ...parts];
}

/** Small parts are joined: a call of the system for each would take longer. */
async function writeAll(file: FileHandle, parts: readonly Uint8Array[], position: number): Promise<void> {
  const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  for (let from = 0; from < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, from, bytes.length - from, position + from);
    from += bytesWritten;
  }
}

function sum(parts: readonly Uint8Array[]): number {
  return parts.reduce((bytes, part) => bytes + part.length, 0);
}

function refusal(cause: unknown): SheafError {
  const message = "the archive cannot be written, so nothing can be: see the server's log";
  return isDiskFull(cause)
    ? new SheafError("storage_full", `the disk of the archive is full: ${message}`, { cause })
    : new SheafError("unavailable", message, { cause, retryAfterSeconds: 1 });
}
