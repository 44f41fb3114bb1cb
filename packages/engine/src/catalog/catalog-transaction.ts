/**
 * What one change of the catalog reads and writes. It sees the committed entries under its own writes and those of the
 * transactions that are to be committed with it. What it has read of committed entries becomes a condition of its commit.
 */
import { takeSlice } from "@sheaf/process";
import { keyName, overlaid } from "../storage/entries.ts";
import type {
  CatalogCommit,
  CatalogCondition,
  CatalogEntry,
  CatalogPage,
  CatalogRange,
  CatalogStore,
  CatalogView,
  CatalogWrite,
} from "../storage/catalog/catalog-store.ts";
import type { DataOrigin } from "../storage/corrupt-data-error.ts";

const ENTRIES_PER_READ = 128;

/** Writes that are not committed yet, over what is. */
export class CatalogChanges {
  /** By the key's bytes as Latin-1. */
  readonly #read = new Map<string, CatalogCondition>();
  readonly #writes = new Map<string, CatalogWrite>();
  /** By the bytes of the range. */
  readonly #counted = new Map<string, CatalogCondition>();
  readonly #clears: CatalogRange[] = [];

  /** Nothing was read or written. */
  get isNew(): boolean {
    return this.isEmpty && this.#read.size === 0 && this.#counted.size === 0;
  }

  get isEmpty(): boolean {
    return this.#writes.size === 0 && this.#clears.length === 0;
  }

  get commit(): CatalogCommit {
    return { conditions: this.#conditions(), clears: this.#clears, writes: this.#writes.values() };
  }

  *#conditions(): Generator<CatalogCondition> {
    yield* this.#read.values();
    yield* this.#counted.values();
  }

  /** `undefined`: what lies below counts. */
  find(key: Uint8Array): Uint8Array | null | undefined {
    const written = this.#writes.get(keyName(key));
    if (written !== undefined) return written.value;
    return this.#clears.some((range) => isWithin(key, range)) ? null : undefined;
  }

  write(key: Uint8Array, value: Uint8Array | null): void {
    this.#writes.set(keyName(key), { key, value });
  }

  clear(range: CatalogRange): void {
    for (const [name, { key }] of this.#writes) if (isWithin(key, range)) this.#writes.delete(name);
    this.#clears.push(range);
  }

  /** What was read first counts: later reads must have found the same, or the commit fails. */
  expect(condition: CatalogCondition): void {
    const [known, name] =
      "key" in condition
        ? ([this.#read, keyName(condition.key)] as const)
        : ([this.#counted, rangeName(condition.range)] as const);
    if (!known.has(name)) known.set(name, condition);
  }

  /** Whether the store has anything else by now where an entry was read. */
  async isOutdatedIn(store: CatalogStore): Promise<boolean> {
    const entries = [...this.#read.values()].filter((condition) => "key" in condition);
    const values = await store.getAll(entries.map(({ key }) => key));
    return entries.some(({ value }, i) => !isSame(value, values[i]!));
  }

  /** Ascending. */
  within(range: CatalogRange): readonly CatalogWrite[] {
    return [...this.#writes.values()]
      .filter(({ key }) => isWithin(key, range))
      .sort((a, b) => Buffer.compare(a.key, b.key));
  }

  touches(range: CatalogRange): boolean {
    return this.clears(range) || [...this.#writes.values()].some(({ key }) => isWithin(key, range));
  }

  clears(range: CatalogRange): boolean {
    return this.#clears.some(
      ({ start, end }) => Buffer.compare(start, range.end) < 0 && Buffer.compare(range.start, end) < 0,
    );
  }

  /** All of `later`, on top. */
  add(later: CatalogChanges): void {
    for (const [name, condition] of later.#read) if (!this.#read.has(name)) this.#read.set(name, condition);
    for (const [name, condition] of later.#counted)
      if (!this.#counted.has(name)) this.#counted.set(name, condition);
    for (const range of later.#clears) this.clear(range);
    for (const [name, write] of later.#writes) this.#writes.set(name, write);
  }
}

export class CatalogTransaction implements CatalogView {
  readonly changes = new CatalogChanges();
  readonly #store: CatalogStore;
  /** Of those before it that are to be committed with it. */
  readonly #before: CatalogChanges;

  constructor(store: CatalogStore, before: CatalogChanges) {
    this.#store = store;
    this.#before = before;
  }

  async get(key: Uint8Array): Promise<Uint8Array | null> {
    const written = this.#written(key);
    if (written !== undefined) return written;
    const value = await this.#store.get(key);
    this.changes.expect({ key, value });
    return value;
  }

  async getAll(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | null)[]> {
    return Promise.all(keys.map((key) => this.get(key)));
  }

  /** As `get`, for entries that are large and that another condition stands for. */
  async peek(key: Uint8Array): Promise<Uint8Array | null> {
    const written = this.#written(key);
    return written === undefined ? this.#store.get(key) : written;
  }

  /** The page and no condition: who decides by a list takes all of it, with `entriesOf`. */
  async entries({ limit, offset = 0, ...range }: CatalogPage): Promise<readonly CatalogEntry[]> {
    if (!this.#before.touches(range) && !this.changes.touches(range))
      return this.#store.entries({ ...range, limit, offset });
    const all = withChanges(await allEntries(this.#store, range), range, [this.#before, this.changes]);
    return all.slice(offset, offset + limit);
  }

  /** All entries of a range. How many of them are committed is a condition. */
  async entriesOf(range: CatalogRange): Promise<readonly CatalogEntry[]> {
    const committed = await allEntries(this.#store, range);
    this.changes.expect({ range, count: committed.length });
    return withChanges(committed, range, [this.#before, this.changes]);
  }

  async count(range: CatalogRange): Promise<number> {
    if (this.#before.clears(range) || this.changes.clears(range)) return (await this.entriesOf(range)).length;
    const committed = await this.#store.count(range);
    this.changes.expect({ range, count: committed });
    const writes = new CatalogChanges();
    for (const layer of [this.#before, this.changes])
      for (const { key, value } of layer.within(range)) writes.write(key, value);
    let count = committed;
    for (const { key, value } of writes.commit.writes) {
      count += Number(value !== null) - Number((await this.#store.get(key)) !== null);
    }
    return count;
  }

  origin(key: Uint8Array): DataOrigin {
    return this.#store.origin(key);
  }

  /** What lies there when this is committed; for what was read without it. */
  expect(key: Uint8Array, value: Uint8Array): void {
    if (this.#written(key) === undefined) this.changes.expect({ key, value });
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.changes.write(key, value);
  }

  remove(key: Uint8Array): void {
    this.changes.write(key, null);
  }

  clear(range: CatalogRange): void {
    this.changes.clear(range);
  }

  requireRoom(bytes: number): Promise<void> {
    return this.#store.requireRoom(bytes);
  }

  #written(key: Uint8Array): Uint8Array | null | undefined {
    const own = this.changes.find(key);
    return own === undefined ? this.#before.find(key) : own;
  }
}

/** All entries of a range, some in each read; the event loop turns where it takes long. */
export async function allEntries(view: CatalogView, { start, end }: CatalogRange): Promise<CatalogEntry[]> {
  const entries: CatalogEntry[] = [];
  for await (const page of pagesOf(view, { start, end })) entries.push(...page);
  return entries;
}

export async function* pagesOf(
  view: CatalogView,
  { start, end }: CatalogRange,
): AsyncGenerator<readonly CatalogEntry[], void> {
  for (let from = start; ;) {
    const page = await view.entries({ start: from, end, limit: ENTRIES_PER_READ });
    if (page.length > 0) yield page;
    if (page.length < ENTRIES_PER_READ) return;
    from = behind(page.at(-1)!.key);
    await takeSlice("");
  }
}

/** The first key that can follow. */
export function behind(key: Uint8Array): Uint8Array {
  return Buffer.concat([key, Uint8Array.of(0)]);
}

function isSame(one: Uint8Array | null, other: Uint8Array | null): boolean {
  return one === null || other === null ? one === other : Buffer.compare(one, other) === 0;
}

function withChanges(
  committed: readonly CatalogEntry[],
  range: CatalogRange,
  layers: readonly CatalogChanges[],
): readonly CatalogEntry[] {
  let entries = committed;
  for (const layer of layers) {
    if (!layer.touches(range)) continue;
    const left = entries.filter(({ key }) => layer.find(key) !== null);
    entries = [...overlaid(left, layer.within(range))];
  }
  return entries;
}

function isWithin(key: Uint8Array, { start, end }: CatalogRange): boolean {
  return Buffer.compare(key, start) >= 0 && Buffer.compare(key, end) < 0;
}

function rangeName({ start, end }: CatalogRange): string {
  return `${start.length} ${keyName(start)}${keyName(end)}`;
}
