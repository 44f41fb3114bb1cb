/** Copies the records of collections into a backup: whole, or as what has changed since the base. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { requireCaughtUp } from "../collection/require-caught-up.ts";
import { damagedStore } from "../storage/corrupt-data-error.ts";
import { collectionName } from "../storage/folder/data-folder.ts";
import type { DiskSpace } from "../storage/folder/disk-space.ts";
import type { Entry, EntryWrite } from "../storage/entries.ts";
import { LACKING } from "../storage/folder/open-file.ts";
import { errorCode } from "../storage/lmdb/commit-cause.ts";
import { readShare } from "../storage/lmdb/copy-share.ts";
import type { EntrySpace } from "../storage/lmdb/entry-space.ts";
import { EVERY_KEY } from "../storage/lmdb/key-range.ts";
import { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { DamagedFile } from "../storage/lmdb/lmdb-file.ts";
import { RECORD_KEYS } from "../storage/lmdb/record-keys.ts";
import { SharedStores } from "../storage/lmdb/shared-stores.ts";
import { EMPTY_HEAD } from "../storage/record-store.ts";
import { runSteps } from "../storage/steps.ts";
import { type HeadValue, decodeHead } from "../storage/values/value-codec.ts";
import type { StoreParts } from "./backed-up-collections.ts";
import type { BackupBase } from "./backup-base.ts";
import { type BackedUpCollection, type StorePart, damaged } from "./backup-files.ts";
import type { CataloguedCollection } from "./backup-steps.ts";
import { CheckedEntries } from "./checked-entries.ts";
import { atLeastOne, changesBetween } from "./entry-changes.ts";
import { PackWriter } from "./pack-writer.ts";
import { storedEntries } from "./stored-entries.ts";
import { sumFile } from "./summed-file.ts";

/** Of a state. It stands in each line of the list, and is compared with the same collection's only. */
const STATE_DIGITS = 16;

/** A collection that shares an environment is small: with more parts it is copied whole again. */
const MOST_PARTS_OF_SHARED = 16;

export interface StoreCopierOptions {
  /** Path of the data folder. */
  readonly from: string;
  /** Of the backup. */
  readonly to: string;
  /** Id of the backup. */
  readonly backup: string;
  readonly disk: DiskSpace;
}

export interface StoreToCopy {
  readonly known: CataloguedCollection;
  /** Where its store is, if it has an environment of its own. */
  readonly place: string;
  readonly isShared: boolean;
  /** `null`: everything is copied. */
  readonly base: BackupBase | null;
  /** For files of its own, in the backup. */
  readonly folder: string;
}

type CopiedStore = Pick<BackedUpCollection, "sequence" | "state" | "parts">;

export class StoreCopier {
  readonly #options: StoreCopierOptions;
  readonly #shares: SharedStores;
  readonly #packs: PackWriter;

  constructor(options: StoreCopierOptions) {
    const { from, to, disk } = options;
    this.#options = options;
    this.#shares = new SharedStores({ path: from, disk, readOnly: true });
    this.#packs = new PackWriter(to, disk);
  }

  /** As it is at one moment. Throws `DamagedFile` and `collection_unavailable`, of the store, and `storage_full`. */
  copy(store: StoreToCopy): Promise<CopiedStore> {
    return store.isShared ? this.#copyShare(store) : this.#copyOwn(store);
  }

  async close(): Promise<void> {
    this.#packs.close();
    await this.#shares.close();
  }

  async #copyOwn({ known, place, base, folder }: StoreToCopy): Promise<CopiedStore> {
    if (!LmdbEnvironment.exists(place)) return nothingOf(known);
    const { disk } = this.#options;
    const options = { folder: place, name: collectionName(known.id), disk, readOnly: true };
    const environment = opened(options.name, () => new LmdbEnvironment(options));
    try {
      const before = beforeOf(known, base);
      const same = before && unchanged(headOf(environment), before);
      if (same !== null) return same;
      const sound = before && (await soundOf(before));
      // Within one turn, so that all that is read here is of one state.
      const check = new CheckedEntries(options.name, null);
      if (sound !== null) return this.#addChanges(environment.iterate(EVERY_KEY), sound, check);
      await environment.copyTo(folder);
    } finally {
      await environment.close();
    }
    return this.#copiedWhole(folder, known);
  }

  async #copyShare({ known, base }: StoreToCopy): Promise<CopiedStore> {
    const source = this.#shares.source(known.id, collectionName(known.id));
    const { name } = source;
    const share = opened(name, () => source.find());
    if (share === null) return nothingOf(known);
    try {
      const before = beforeOf(known, base);
      const same = before && unchanged(headOf(share), before);
      if (same !== null) return same;
      const sound = before && (await soundOf(before));
      // Within one turn, so that it is of one state.
      const entries = runSteps(readShare(share));
      const check = new CheckedEntries(name, headOf(share)?.counts?.entries ?? null);
      if (entries.length === 0) return nothingOf(known);
      if (sound !== null && (sound.parts.length < MOST_PARTS_OF_SHARED || isUnchanged(entries, sound)))
        return this.#addChanges(entries, sound, check);
      const part = this.#pack(check.of(entries), true);
      return { ...stateIn(check.head, known), parts: [part] };
    } finally {
      await share.close();
    }
  }

  async #copiedWhole(folder: string, known: CataloguedCollection): Promise<CopiedStore> {
    const file = join(folder, "data.mdb");
    const check = new CheckedEntries(collectionName(known.id), null);
    // Walks all its pages.
    const entries = check.of(storedEntries({ whole: file, changes: [] }));
    while (entries.next().done !== true);
    const state = stateIn(check.head, known);
    const sum = await sumFile(file);
    return { ...state, parts: [{ isWhole: true, in: this.#options.backup, pack: null, ...sum }] };
  }

  /** What the base has is not stored again. */
  #addChanges(
    entries: Iterable<Entry>,
    { known, base, parts: before }: Before,
    check: CheckedEntries,
  ): CopiedStore {
    const changes = changesBetween(entriesOfBase(base.collections.partsOf(known.id)), check.of(entries));
    const made = atLeastOne(changes);
    const parts = made === null ? before : [...before, this.#pack(made, false)];
    return { ...stateIn(check.head, known), parts };
  }

  #pack(changes: Iterable<EntryWrite>, isWhole: boolean): StorePart {
    return { isWhole, in: this.#options.backup, ...this.#packs.append(changes) };
  }
}

/** Throws `collection_unavailable` where the file of a store is there and cannot be opened: others can. */
function opened<T>(store: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const code = errorCode(error);
    const isOfFile = typeof code === "number" || (typeof code === "string" && !LACKING.has(code));
    if (error instanceof SheafError || !isOfFile) throw error;
    throw damagedStore(store, `its file cannot be opened (${code})`, error);
  }
}

/** What the base has of a collection. */
interface Before {
  readonly known: CataloguedCollection;
  readonly base: BackupBase;
  /** At least one. */
  readonly parts: readonly StorePart[];
}

/** `null`: nothing. */
function beforeOf(known: CataloguedCollection, base: BackupBase | null): Before | null {
  const parts = base?.collections.listedParts(known.id) ?? [];
  return base === null || parts.length === 0 ? null : { known, base, parts };
}

/** `null`: it is damaged, so that everything is copied. */
async function soundOf(before: Before): Promise<Before | null> {
  const { base, known, parts } = before;
  return (await base.isSound(collectionName(known.id), parts)) ? before : null;
}

/** `null`: it holds something else by now, or that cannot be said without reading it. */
function unchanged(head: HeadValue | null, { known, base, parts }: Before): CopiedStore | null {
  if (!base.isOfFolder) return null;
  const now = stateIn(head, known);
  return now.state === base.collections.find(known.id)?.state ? { ...now, parts } : null;
}

/** It was never written to. */
function nothingOf(known: CataloguedCollection): CopiedStore {
  requireCaughtUp(EMPTY_HEAD, known, collectionName(known.id));
  return { sequence: 0, parts: [] };
}

function isUnchanged(entries: Iterable<Entry>, { known, base }: Before): boolean {
  const changes = changesBetween(entriesOfBase(base.collections.partsOf(known.id)), entries);
  try {
    return changes.next().done === true;
  } finally {
    changes.return(undefined);
  }
}

function headOf(space: EntrySpace): HeadValue | null {
  const value = space.get(RECORD_KEYS.head);
  return value && decodeHead(value, space.origin(RECORD_KEYS.head));
}

/** Its damage is none of the collection's. */
function* entriesOfBase(before: StoreParts | null): Generator<Entry> {
  if (before === null) return;
  try {
    yield* storedEntries(before);
  } catch (error) {
    const path = before.whole ?? before.changes[0]?.path ?? "";
    throw error instanceof DamagedFile ? damaged(path, error.message) : error;
  }
}

/** Operations that a store holds, and what tells its state from others that it had since its lineage began. */
function stateIn(found: HeadValue | null, known: CataloguedCollection): Omit<CopiedStore, "parts"> {
  const head = found?.head ?? EMPTY_HEAD;
  requireCaughtUp(head, known, collectionName(known.id));
  // Changes that were forgotten are gone, and no operation did that.
  const state = [known.lineage, head.sequence, head.nextOffset, head.dimension, found?.completeFrom];
  const sum = createHash("sha256").update(JSON.stringify(state)).digest("hex");
  return { sequence: head.sequence, state: sum.slice(0, STATE_DIGITS) };
}
