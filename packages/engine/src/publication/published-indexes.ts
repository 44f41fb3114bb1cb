/**
 * The indexes of collections as any server can have them: files in an object store, and in the database which of them are
 * whose. A server publishes what it has sealed, and a collection that has no files in the data folder begins with what was
 * published. All of it can be had from the records again, so whatever is wrong with it never makes an answer wrong.
 */
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import type { FolderFiles } from "../storage/files/folder-files.ts";
import { type Manifest, filesOf, installManifest, readManifest } from "../storage/files/manifest.ts";
import type { LogHead } from "../storage/log/commit-log.ts";
import type { ObjectFiles } from "../storage/objects/object-files.ts";
import { SegmentDamaged } from "../storage/files/segment-damaged.ts";
import { Slots } from "../storage/objects/slots.ts";
import type { PostgresManifests, PublishedManifest } from "../storage/postgres/postgres-manifests.ts";
import { UpkeepRounds } from "../upkeep-rounds.ts";
import type { IndexNodes } from "./index-nodes.ts";
import type { PrefixOwner } from "./prefix-owner.ts";
import { PublishedFiles } from "./published-files.ts";
import { Publisher, type PublishingLimits } from "./publisher.ts";

export interface PublicationLimits extends PublishingLimits {
  /** How long a file stays that nothing refers to, or that was never finished. Who fetches a file has so long. */
  readonly graceMs: number;
  /** How long one stays that records were in. A backup of the database that is older cannot be restored. */
  readonly keepMs: number;
  /** Between two sweeps of one server. */
  readonly sweepMs: number;
  /** Between two looks of all servers for objects that no file knows. */
  readonly listMs: number;
  /** How long an index node counts as alive, and keeps what it works at, without a sign of life. */
  readonly claimMs: number;
  /** How long a search node leaves a publication that is due to index nodes. */
  readonly leftMs: number;
}

export const PUBLICATION_LIMITS: PublicationLimits = {
  ...{ operations: 8_192, afterMs: 600_000, retryMs: 30_000 },
  ...{ graceMs: 3_600_000, keepMs: 7 * 24 * 3_600_000, sweepMs: 600_000 },
  listMs: 24 * 3_600_000,
  ...{ claimMs: 20_000, leftMs: 600_000 },
};
/** An index node publishes what it has sealed: whether that is due was known before it began. */
export const PUBLISHING_AT_ONCE = { operations: 1, afterMs: 0 };

/** Collections that publish at a time, and files that are fetched. */
const PUBLISHING = 2;
const FETCHING = 4;
/** Whatever else is there is not removed. */
const OBJECT_NAME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.(?:seg|dead|records)$/;

export interface PublishedIndexesOptions {
  /** Closed with this. */
  readonly objects: ObjectFiles;
  readonly manifests: PostgresManifests;
  /** Whom publications and sweeps are left to, if anybody. Closed with this. */
  readonly indexNodes?: IndexNodes | undefined;
  readonly owner: PrefixOwner;
  readonly limits?: Partial<PublicationLimits> | undefined;
  /** `collection` is left out where it is about none. */
  readonly onProblem: (error: unknown, collection?: string) => void;
}

export interface PublishedCollection {
  readonly id: string;
  /** UUID of its log. */
  readonly lineage: string;
  readonly folder: FolderFiles;
}

export class PublishedIndexes {
  readonly #options: PublishedIndexesOptions;
  readonly #limits: PublicationLimits;
  readonly #publishing = new Slots(PUBLISHING);
  readonly #fetching = new Slots(FETCHING);
  /** Collections whose files are to be here as a whole before anything is read of them. */
  readonly #doubted = new Set<string>();
  /** By collection, the newest published manifest that was of no use here. */
  readonly #rejected = new Map<string, number>();
  readonly #sweeps: UpkeepRounds;

  constructor(options: PublishedIndexesOptions) {
    this.#options = options;
    this.#limits = { ...PUBLICATION_LIMITS, ...options.limits };
    const { sweepMs } = this.#limits;
    // Servers that start together do not sweep together.
    this.#sweeps = new UpkeepRounds(sweepMs * Math.random(), async () => {
      if (!this.#isLeft) await this.sweep().catch((error: unknown) => options.onProblem(error));
      return sweepMs * (0.5 + Math.random());
    });
  }

  /** As published now; so whoever reads the collection's log afterwards is not behind it. */
  async of(collection: PublishedCollection): Promise<PublishedIndex> {
    const { objects, manifests, onProblem } = this.#options;
    const { id, folder } = collection;
    const found = await manifests.read(id);
    const reject = (): void => void (found !== null && this.#rejected.set(id, found.n));
    const files = new PublishedFiles({
      ...{ objects, folder, inTurn: (work) => this.#fetching.run(work) },
      onProblem: (error) => {
        if (error instanceof SegmentDamaged) reject();
        onProblem(error, id);
      },
    });
    const publisher = new Publisher({
      ...{ objects, files: folder, collection: id, manifests, limits: this.#limits },
      leftMs: () => (this.#isLeft ? this.#limits.leftMs : 0),
      onProblem: (error) => onProblem(error, id),
      inTurn: (work) => this.#publishing.run(work),
      rejected: () => this.#rejected.get(id) ?? 0,
      onSpent: (names) => index.onSpent(names),
      onDamaged: (damage) => index.onDamaged(damage),
    });
    const isOfUse = found?.epoch === collection.lineage && found.n > (this.#rejected.get(id) ?? 0);
    const index = new PublishedIndex({
      ...collection,
      files,
      publisher,
      reject,
      doubt: () => this.#doubted.add(id),
      // Once.
      isDoubted: this.#doubted.delete(id),
      found: isOfUse ? found : null,
      behindBy: this.#limits.operations,
    });
    return index;
  }

  get #isLeft(): boolean {
    return this.#options.indexNodes?.areThere === true;
  }

  /** Removes what nothing refers to. Several servers may do it at once. */
  async sweep(): Promise<void> {
    const { manifests, objects, owner } = this.#options;
    await owner.require();
    await manifests.doom(this.#limits.graceMs, this.#limits.keepMs);
    for (let names = await manifests.doomed(); names.length > 0; names = await manifests.doomed())
      for (const name of names) {
        if (this.#sweeps.closing.aborted) return;
        await objects.remove(name);
        await manifests.removed(name);
      }
    if (await manifests.claimListing(this.#limits.listMs)) await this.#adoptUnknown();
  }

  /** A row of a file stands before its object is sent, so what has none was lost with the rows of a database that was set back. */
  async #adoptUnknown(): Promise<void> {
    const { manifests, objects } = this.#options;
    for await (const names of objects.listed()) {
      if (this.#sweeps.closing.aborted) return;
      await manifests.adopt(names.filter((name) => OBJECT_NAME.test(name)));
    }
  }

  /** After what is under way. The collections are closed. */
  async close(): Promise<void> {
    await Promise.all([this.#sweeps.close(), this.#options.indexNodes?.close()]);
    await this.#options.objects.close();
  }
}

/** `false`: all calls wait for what is not here yet. */
export type FillBehind = (work: (signal: CancelSignal) => Promise<void>) => boolean;

interface PublishedIndexOptions extends PublishedCollection {
  readonly files: PublishedFiles;
  readonly publisher: Publisher;
  readonly reject: () => void;
  readonly doubt: () => void;
  readonly isDoubted: boolean;
  /** What can be had; `null`: nothing. */
  readonly found: PublishedManifest | null;
  /** Operations by which the folder's own index may be older. */
  readonly behindBy: number;
}

/** Of one open collection. */
export class PublishedIndex {
  readonly #options: PublishedIndexOptions;
  #isAdopted = false;
  #position: (() => LogHead) | null = null;
  /** Told of files that have to be written under other names. */
  onSpent: (names: ReadonlySet<string>) => void = () => {};
  /** Told of a file that is. */
  onDamaged: (damage: SegmentDamaged) => void = () => {};

  constructor(options: PublishedIndexOptions) {
    this.#options = options;
    if (options.found?.manifest) options.files.know(filesOf(options.found.manifest));
  }

  get files(): PublishedFiles {
    return this.#options.files;
  }

  /**
   * Has the folder begin with what is published, where it lacks a file of its own index, or that is much older, or none.
   * `fill`: files are read where they are, until what it is told to do is done; it does nothing where calls wait for all of it
   * anyway.
   */
  async adopt(signal: CancelSignal, fill: FillBehind | null = null): Promise<void> {
    const { folder, found, lineage, files, isDoubted, behindBy } = this.#options;
    if (!found?.manifest) return;
    const isReadThere = !isDoubted && fill?.((closing) => this.#fetchRead(closing)) === true;
    if (isReadThere) files.readThere();
    const { manifest, nextN } = await readManifest(folder, { signal });
    const isUsable = manifest?.lineage === lineage && (await this.#canBeOpened(manifest));
    if (isUsable && manifest.covers > found.manifest.covers - behindBy) return;
    throwIfAborted(signal);
    const isWhole = isReadThere || (await this.#fetchAll(found.manifest, signal));
    if (isUsable && !isWhole) return;
    await installManifest(folder, { ...found.manifest, n: nextN, lineage });
    this.#isAdopted = true;
  }

  /** `position`: the state of the log that the records have come to. */
  follow(position: () => LogHead): void {
    this.#position = position;
  }

  /** The index is in its files as this manifest says. */
  publish(manifest: Manifest): void {
    if (this.#position !== null) this.#options.publisher.publish(manifest, this.#position());
  }

  /** `close` would break off what is being published. */
  get isPublishing(): boolean {
    return this.#options.publisher.isBusy;
  }

  /** Until what it was told of is published. Rejects where it cannot be. */
  settle(): Promise<void> {
    return this.#options.publisher.settle();
  }

  /** What the folder had was not the index of these records, or could not be used: if it was published, nobody should. */
  useless(): void {
    if (this.#isAdopted) this.#options.reject();
  }

  /** Where files were read as they were needed, whoever opens the collection next looks at all of each first. */
  doubt(): void {
    this.#options.doubt();
  }

  close(): Promise<void> {
    return this.#options.publisher.close();
  }

  async #fetchRead(signal: CancelSignal): Promise<void> {
    try {
      await this.#options.files.fetchRead(signal);
    } catch (error) {
      if (!signal.aborted) this.doubt();
      throw error;
    }
  }

  /** All files are here or published. */
  async #canBeOpened(manifest: Manifest): Promise<boolean> {
    const { folder, found } = this.#options;
    const there = new Set([...(await folder.list()), ...filesOf(found!.manifest!).map(({ name }) => name)]);
    return filesOf(manifest).every(({ name }) => there.has(name));
  }

  /** Several at a time. `false`: not all can be had; what cannot is found to be missing when it is opened. */
  async #fetchAll(manifest: Manifest, signal: CancelSignal): Promise<boolean> {
    const { files, folder } = this.#options;
    const here = new Set(await folder.list());
    const fetched = await Promise.all(
      filesOf(manifest).flatMap(({ name }) => (here.has(name) ? [] : [files.fetch(name, signal)])),
    );
    return !fetched.includes(false);
  }
}
