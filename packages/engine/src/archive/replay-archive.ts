/** Applies the entries of an archive to what was restored of a backup. Runs in the backup process. */
import { rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { SheafError } from "@sheaf/protocol";
import { collectionEntries } from "../catalog/catalog-selection.ts";
import { ALL_COLLECTIONS } from "../catalog/catalog-keys.ts";
import { allEntries } from "../catalog/catalog-transaction.ts";
import type { DataFolder } from "../storage/folder/data-folder.ts";
import type { CatalogStore } from "../storage/catalog/catalog-store.ts";
import type { RecordStore, RemovedRecord, StoreChange, StoreView } from "../storage/record-store.ts";
import {
  CHANGE_FORM,
  type ChangeBody,
  decodeCatalog,
  decodeChange,
  decodeChangeHead,
} from "./archive-entries.ts";
import { ENTRY_KIND } from "./archive-format.ts";
import type { Replay } from "./plan-replay.ts";
import { type ArchiveEntry, readArchive } from "./read-archive.ts";

/** Stores that are open at a time. */
const MOST_OPEN = 64;
/** Batches that share a commit, at most. */
const GROUP_BATCHES = 256;
const GROUP_BYTES = 16 * 2 ** 20;

/** All commits of the catalog, on a copy that may have some of them already: they say what lies there afterwards. */
export async function replayCatalog(catalog: CatalogStore, replay: Replay): Promise<void> {
  const voided = new Set(replay.voided);
  let waiting: Promise<unknown>[] = [];
  for (const { kind, position, body } of entriesOf(replay)) {
    if (kind !== ENTRY_KIND.catalog || voided.has(position)) continue;
    // They are done in their order, and those that wait share a sync.
    const done = catalog.commit({ conditions: [], ...decodeCatalog(body) });
    done.catch(() => undefined);
    if (waiting.push(done) < GROUP_BATCHES) continue;
    await Promise.all(waiting);
    waiting = [];
  }
  await Promise.all(waiting);
}

/** Ids of the collections of a catalog; of one tenant, or of all. */
export async function liveCollections(catalog: CatalogStore, tenant: string | null): Promise<Set<string>> {
  const live = new Set<string>();
  for (const { id, tenant: owner } of collectionEntries(await allEntries(catalog, ALL_COLLECTIONS)))
    if (tenant === null || owner === tenant) live.add(id);
  return live;
}

export interface ReplayedRecords {
  /** Collections that are there in the end; of others nothing is kept. */
  readonly live: ReadonlySet<string>;
  /** Records of a collection in the folder, there or not. */
  readonly openStore: (id: string) => RecordStore;
}

/** Sequence numbers that the collections have afterwards. */
export async function replayRecords(
  replay: Replay,
  folder: DataFolder,
  { live, openStore }: ReplayedRecords,
): Promise<ReadonlyMap<string, number>> {
  const stores = new ReplayedStores(folder, openStore);
  try {
    for (const { kind, position, body } of entriesOf(replay)) {
      if (kind !== ENTRY_KIND.change || !live.has(decodeChangeHead(body).collection)) continue;
      await stores.apply(decodeChange(body), position, body.length);
    }
    await stores.flush();
  } finally {
    await stores.close();
  }
  for (const id of folder.collectionIds())
    if (!live.has(id)) await rm(folder.collection(id), { recursive: true, force: true });
  return stores.sequences;
}

function* entriesOf({ archive, from, to }: Replay): Generator<ArchiveEntry> {
  for (const entry of readArchive(archive, from)) {
    if (entry.position > to) return;
    yield entry;
  }
}

class ReplayedStores {
  readonly sequences = new Map<string, number>();
  readonly #folder: DataFolder;
  readonly #openStore: ReplayedRecords["openStore"];
  /** Operations that the backup had of them. */
  readonly #bases = new Map<string, number>();
  /** The one that was used last is the last. */
  readonly #open = new Map<string, RecordStore>();
  /** Collection -> parts of its image so far. */
  readonly #images = new Map<string, number>();
  #waiting: Promise<unknown>[] = [];
  #bytes = 0;

  constructor(folder: DataFolder, openStore: ReplayedRecords["openStore"]) {
    this.#folder = folder;
    this.#openStore = openStore;
  }

  async apply(change: ChangeBody, position: number, bytes: number): Promise<void> {
    const { collection: id, head } = change;
    const store = await this.#store(id);
    if (!this.#isDue(change, position)) return;
    this.sequences.set(id, head.sequence);
    const applied = store.apply((view) => planned(view, change));
    // It is waited for below.
    applied.catch(() => undefined);
    this.#waiting.push(applied);
    this.#bytes += bytes;
    if (this.#waiting.length >= GROUP_BATCHES || this.#bytes >= GROUP_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    const waiting = this.#waiting;
    [this.#waiting, this.#bytes] = [[], 0];
    await Promise.all(waiting);
  }

  async close(): Promise<void> {
    for (const store of this.#open.values()) await store.close();
    this.#open.clear();
  }

  /** The backup may have it already. */
  #isDue({ collection: id, form, from, head }: ChangeBody, position: number): boolean {
    const sequence = this.sequences.get(id) ?? 0;
    if (form === CHANGE_FORM.image) {
      const parts = this.#images.get(id) ?? 0;
      if (parts === 0 && sequence > 0) return false;
      if (from !== parts) throw broken(id, position, `part ${parts} of its records is missing`);
      this.#images.set(id, parts + 1);
      return true;
    }
    this.#images.delete(id);
    if (head.sequence <= (this.#bases.get(id) ?? 0)) return false;
    if (form === CHANGE_FORM.state && head.sequence === sequence) return false;
    // A state may hold what is there already, and never less.
    const fits =
      form === CHANGE_FORM.state ? from <= sequence && head.sequence > sequence : from === sequence;
    if (!fits) throw broken(id, position, `it goes on from operation ${from}, and ${sequence} are there`);
    return true;
  }

  async #store(id: string): Promise<RecordStore> {
    const known = this.#open.get(id);
    this.#open.delete(id);
    const store = known ?? this.#newStore(id);
    this.#open.set(id, store);
    if (this.#open.size > MOST_OPEN) {
      const [oldest, left] = this.#open.entries().next().value!;
      await this.flush();
      this.#open.delete(oldest);
      await left.close();
    }
    return store;
  }

  #newStore(id: string): RecordStore {
    const store = this.#openStore(id);
    const base = this.#bases.get(id) ?? store.head.sequence;
    this.#bases.set(id, base);
    if (!this.sequences.has(id)) this.sequences.set(id, base);
    // The index that was restored is brought up to date from the changes.
    if (existsSync(this.#folder.collectionIndex(id))) store.keepChangesAfter(base);
    return store;
  }
}

/** Of a state, what a record was before may have been removed or put by then, or not. */
function planned(view: StoreView, { form, head, puts, removes }: ChangeBody): StoreChange {
  if (form !== CHANGE_FORM.state) return { head, puts, removes };
  const kept = new Set(puts.map(({ offset }) => offset));
  const gone = new Map<string, RemovedRecord>();
  for (const removed of removes) {
    const offset = view.offsetOf(removed.id);
    if (offset !== null && !kept.has(offset)) gone.set(removed.id, { ...removed, offset });
  }
  return { head, puts, removes: [...gone.values()] };
}

function broken(id: string, position: number, problem: string): SheafError {
  return new SheafError(
    "failed_precondition",
    `the archive does not go on from the backup at entry ${position}, collection ${id}: ${problem}`,
  );
}
