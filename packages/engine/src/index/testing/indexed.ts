/** A collection's index for tests of dense search, beside the records it was told. */
import type { IndexPlan, Space } from "@sheaf/protocol";
import { prepare, preparedDistance } from "../../kernels/distance.ts";
import type { StoredRecord } from "../../storage/stored-record.ts";
import { CollectionIndex } from "../collection-index.ts";
import type { CollectionIndexOptions } from "../collection-index-options.ts";
import type { IndexSnapshot } from "../index-snapshot.ts";
import { listBits } from "../../segment/bits.ts";
import { RowSet } from "../row-set.ts";

/** So small that a few hundred rows go through every stage. */
const SMALL_SIZES = { mutableRows: 64, sealedRows: 256 };

type Found = readonly (readonly [offset: number, distance: number])[];

/** An index beside the records it was told, which answer by comparing all. */
export class Indexed {
  readonly index: CollectionIndex;
  /** Exact distances that were asked for. */
  asked = 0;
  readonly #space: Space;
  readonly #records = new Map<number, StoredRecord>();
  #sequence = 0;

  constructor(space: Space, options: CollectionIndexOptions = {}) {
    this.#space = space;
    const read = (offset: number): StoredRecord | null => this.#records.get(offset) ?? null;
    const plan: IndexPlan = { space, embeddingFunction: null, sparse: [] };
    this.index = new CollectionIndex(
      plan,
      { read, readVector: read },
      { sizes: SMALL_SIZES, denseRows: 24, ...options },
    );
  }

  get size(): number {
    return this.#records.size;
  }

  put(offset: number, embedding: Float32Array): void {
    const rest = { document: null, uri: null, metadata: null };
    const record = { offset, sequence: ++this.#sequence, id: `r${offset}`, embedding, ...rest };
    this.#records.set(offset, record);
    this.index.put(record);
  }

  remove(offset: number): void {
    this.#records.delete(offset);
    this.index.remove(offset);
  }

  maintain(atRest = false): void {
    while (this.index.maintain(atRest));
  }

  rows(keeps: (offset: number) => boolean, snapshot = this.index.snapshot()): RowSet {
    const rows = new RowSet(snapshot.bases);
    for (const position of listBits(snapshot.live.words))
      if (keeps(snapshot.offset(position))) rows.add(position);
    return rows;
  }

  distanceAt(position: number, snapshot: IndexSnapshot, query: Float32Array): number {
    this.asked++;
    const held = snapshot.vector(position);
    if (held !== null) return preparedDistance(this.#space, query, held);
    const stored = this.#records.get(snapshot.offset(position));
    if (stored?.sequence !== snapshot.sequence(position)) throw new Error("the record is not as it was");
    return preparedDistance(this.#space, query, prepare(this.#space, stored.embedding));
  }

  /** The nearest of all rows of the set: those without codes are compared. */
  search(
    vector: Float32Array,
    k: number,
    options: { rows?: RowSet; exact?: boolean; meanwhile?: () => void } = {},
  ): Found {
    const snapshot = this.index.snapshot();
    const { rows = snapshot.live, exact = false, meanwhile = () => {} } = options;
    const query = prepare(this.#space, vector);
    const distanceAt = (position: number): number => this.distanceAt(position, snapshot, query);
    const steps = snapshot.searchDense({ query, k, exact, distanceAt }, rows);
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) meanwhile();
    const found = [...(step.value?.nearest.positions ?? [])].map((position, i): readonly [number, number] => [
      snapshot.offset(position),
      step.value!.nearest.distances[i]!,
    ]);
    const rest = step.value === null ? rows : step.value.rest;
    const others = rest === null ? [] : listBits(rest.words);
    return nearest([...found, ...others.map((at) => [snapshot.offset(at), distanceAt(at)] as const)], k);
  }

  /** Rows of the snapshot that have no code. */
  rest(): number {
    const snapshot = this.index.snapshot();
    const { dimension } = this;
    const request = { query: new Float32Array(dimension), k: 1, exact: false, distanceAt: () => 0 };
    const steps = snapshot.searchDense(request, snapshot.live);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    return step.value === null ? snapshot.size : (step.value.rest?.count() ?? 0);
  }

  get dimension(): number {
    return [...this.#records.values()][0]!.embedding.length;
  }

  bruteForce(vector: Float32Array, k: number, keeps: (offset: number) => boolean = () => true): Found {
    const query = prepare(this.#space, vector);
    const all = [...this.#records.values()].filter(({ offset }) => keeps(offset));
    return nearest(
      all.map(({ offset, embedding }) => [
        offset,
        preparedDistance(this.#space, query, prepare(this.#space, embedding)),
      ]),
      k,
    );
  }
}

function nearest(found: Found, k: number): Found {
  return found.toSorted(([a, x], [b, y]) => x - y || a - b).slice(0, k);
}
