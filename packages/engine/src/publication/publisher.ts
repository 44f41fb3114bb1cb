/**
 * Publishes the index of one open collection: its files to the object store, then which they are to the database, where
 * other servers find it. Each file is known to the database before its first byte is sent, and read back before anything
 * refers to it. So whenever this ends, what was published before stays whole, and what is left over is found and removed.
 *
 * It goes on beside the calls, one thing at a time, whenever opening the collection elsewhere would take much more than it
 * has to. Servers do not agree on who does it: the second one finds the newer manifest, and mostly has nothing to add then.
 * Where there are index nodes, search nodes leave it to them for a while.
 */
import { randomUUID } from "node:crypto";
import { Cancellation, SheafError, throwIfAborted } from "@sheaf/protocol";
import { type Manifest, filesOf } from "../storage/files/manifest.ts";
import type { FileIdentity } from "../storage/files/section-writer.ts";
import type { SegmentFile, SegmentFiles } from "../storage/files/segment-files.ts";
import { SegmentDamaged, SegmentMissing } from "../storage/files/segment-damaged.ts";
import type { LogHead } from "../storage/log/commit-log.ts";
import type { PostgresManifests, PublishedManifest } from "../storage/postgres/postgres-manifests.ts";
import { copyInto, piecesOf, verifyFile } from "./published-files.ts";

export interface PublishingLimits {
  /** Operations that a published manifest may lack. */
  readonly operations: number;
  /** How long it may lack fewer. */
  readonly afterMs: number;
  /** From a failure to the next attempt. */
  readonly retryMs: number;
}

export interface PublisherOptions {
  readonly collection: string;
  /** Of the collection's folder. */
  readonly files: Pick<SegmentFiles, "open">;
  readonly objects: Pick<SegmentFiles, "open" | "create">;
  readonly manifests: Pick<PostgresManifests, "read" | "stage" | "publish">;
  readonly limits: PublishingLimits;
  /** How long what is due is left to index nodes, now; 0: not at all. */
  readonly leftMs: () => number;
  /** Few publish at a time. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** `n` of a published manifest that was of no use here; 0: there is none. */
  readonly rejected: () => number;
  /** These can never be published under their names. */
  readonly onSpent: (names: ReadonlySet<string>) => void;
  /** A file of the folder is. */
  readonly onDamaged: (damage: SegmentDamaged) => void;
  readonly onProblem: (error: unknown) => void;
}

interface Draft {
  readonly manifest: Manifest;
  /** Of the log, when that was the index. */
  readonly state: LogHead;
}

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #closing = new Cancellation();
  /** What is to be published, if anything. */
  #draft: Draft | null = null;
  #timer: NodeJS.Timeout | undefined;
  /** Never rejects. */
  #work: Promise<void> | null = null;
  #hasFailed = false;
  /** What it was told of last is published, or need not be now. */
  #isDone = true;
  /** Since when something is due that is left to others. */
  #leftSince: number | null = null;
  /** Of the newest manifest that this has published. */
  #token: string | null = null;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** The index in its files, as it is now. */
  publish(manifest: Manifest, state: LogHead): void {
    this.#draft = { manifest, state };
    this.#isDone = false;
    if (this.#work === null && !this.#hasFailed) this.#begin();
  }

  /** Something is under way, or waits for its turn. */
  get isBusy(): boolean {
    return this.#work !== null;
  }

  /** After what is under way. Rejects where what it was told of is not published, and should be. */
  async settle(): Promise<void> {
    while (this.#work !== null) await this.#work;
    if (!this.#isDone) throw new SheafError("unavailable", "the index could not be published yet");
  }

  /** Breaks off what is under way. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#closing.abort(new SheafError("cancelled", "the collection is being closed"));
    await this.#work;
  }

  #begin(): void {
    clearTimeout(this.#timer);
    if (this.#draft === null || this.#closing.aborted) return;
    const draft = this.#draft;
    this.#work = this.#run(draft).finally(() => {
      this.#work = null;
      if (this.#draft !== draft && !this.#hasFailed) this.#begin();
    });
  }

  #beginIn(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#begin(), milliseconds).unref();
  }

  async #run(draft: Draft): Promise<void> {
    try {
      const pause = await this.#options.inTurn(() => this.#publish(draft));
      this.#hasFailed = false;
      if (this.#draft === draft) this.#isDone = pause !== Infinity;
      if (pause !== null && pause !== Infinity) this.#beginIn(pause);
    } catch (error) {
      if (this.#closing.aborted) return;
      // A store that is away is told of once.
      if (!this.#hasFailed) this.#options.onProblem(error);
      this.#hasFailed = true;
      this.#beginIn(this.#options.limits.retryMs);
    }
  }

  /**
   * Milliseconds until there may be something to do for the same draft; `null`: it is published, or is no news. Infinite: it
   * cannot be published, and another draft is about to come.
   */
  async #publish({ manifest, state }: Draft): Promise<number | null> {
    const { collection, manifests, limits, rejected, onSpent } = this.#options;
    throwIfAborted(this.#closing);
    const known = await manifests.read(collection);
    const isOwn = known !== null && known.token === this.#token;
    const pause = pauseBefore(manifest, known, { ...limits, isOwn, rejected: rejected() });
    if (pause !== 0) {
      this.#leftSince = null;
      return pause;
    }
    const leftMs = this.#stillLeftMs();
    if (leftMs > 0) return Math.min(leftMs, limits.retryMs);
    const published = new Set(known?.manifest && filesOf(known.manifest).map(({ name }) => name));
    const spent = new Set<string>();
    for (const file of filesOf(manifest)) {
      const outcome = published.has(file.name) ? "live" : await this.#upload(file);
      // A manifest without it is about to come.
      if (outcome === "lost") return Infinity;
      if (outcome === "spent") spent.add(file.name);
    }
    if (spent.size > 0) {
      onSpent(spent);
      return Infinity;
    }
    const token = randomUUID();
    const outcome = await manifests.publish({ collection, after: known?.n ?? null, token, state, manifest });
    if (outcome === "done") this.#token = token;
    if (outcome === "spent") {
      onSpent(new Set(filesOf(manifest).map(({ name }) => name)));
      return Infinity;
    }
    return outcome === "moved" ? limits.retryMs : null;
  }

  /** For how long something that is due is still left to index nodes. */
  #stillLeftMs(): number {
    const now = performance.now();
    this.#leftSince ??= now;
    return this.#options.leftMs() - (now - this.#leftSince);
  }

  /** `lost`: the folder does not have it any more. `spent`: it cannot be had under this name. */
  async #upload(file: FileIdentity): Promise<"live" | "lost" | "spent"> {
    const { files, objects, manifests } = this.#options;
    const local = (await this.#isWhole(file)) ? await files.open(file.name, { signal: this.#closing }) : null;
    if (local === null) return "lost";
    try {
      const state = await manifests.stage(file.name, local.size);
      if (state !== "staged") return state;
      await copyInto(objects, local, this.#closing).catch((error: unknown) => {
        // An earlier attempt has sent it; what it has sent is looked at as well.
        if (!(error instanceof SheafError) || error.code !== "already_exists") throw error;
      });
      return (await this.#isSent(local)) ? "live" : "spent";
    } finally {
      await local.close();
    }
  }

  async #isWhole(file: FileIdentity): Promise<boolean> {
    try {
      await verifyFile(this.#options.files, file, this.#closing);
      return true;
    } catch (error) {
      if (!(error instanceof SegmentDamaged)) throw error;
      if (!(error instanceof SegmentMissing)) this.#options.onDamaged(error);
      return false;
    }
  }

  async #isSent(local: SegmentFile): Promise<boolean> {
    const object = await this.#options.objects.open(local.name, { signal: this.#closing });
    if (object?.size !== local.size) return false;
    try {
      const sent = piecesOf(object, this.#closing);
      for await (const piece of piecesOf(local, this.#closing))
        if (!piece.equals((await sent.next()).value as Buffer)) return false;
      return true;
    } finally {
      await object.close();
    }
  }
}

interface Rules extends PublishingLimits {
  /** This server has published the known one. */
  readonly isOwn: boolean;
  readonly rejected: number;
}

/** Until a manifest is worth to be published; `null`: it never is. */
export function pauseBefore(
  { covers, segments }: Manifest,
  known: PublishedManifest | null,
  { operations, afterMs, isOwn, rejected }: Rules,
): number | null {
  if (known === null || known.manifest === null || known.n <= rejected) return 0;
  const lacks = covers - known.manifest.covers;
  if (lacks >= operations) return 0;
  const names = (list: Manifest["segments"]): string => list.map(({ name }) => name).join();
  const isNews = lacks > 0 || (lacks === 0 && isOwn && names(segments) !== names(known.manifest.segments));
  return isNews ? Math.max(0, afterMs - known.ageMs) : null;
}
