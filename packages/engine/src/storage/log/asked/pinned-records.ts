/** What the plans of one group look at, at the state of a view: it stays until they are made, however much that is. */
import { parentOfId } from "@sheaf/protocol";
import { DataAbsent } from "../../data-absent.ts";
import { partitionOf } from "../partition-of.ts";
import type { Fact } from "./known-records.ts";

/** Of what is kept of an id beside the id and its value, about. */
const ENTRY_BYTES = 64;

interface SortedId {
  readonly id: string;
  readonly key: Buffer;
}

/** The chunks of a document, of all partitions. */
interface ChunkIds {
  /** By partition, of which state. */
  readonly asOf: Float64Array;
  readonly ids: Set<string>;
  /** In their order; `null`: not since they have changed. */
  sorted: readonly SortedId[] | null;
  /** One of them was removed after this operation; -1: not that is known. */
  removedAfter: number;
}

export class PinnedRecords {
  readonly #partitions: number;
  readonly #facts = new Map<string, Fact>();
  /** Of values, by offset. */
  readonly #sizes = new Map<number, number>();
  readonly #chunks = new Map<string, ChunkIds>();
  /** By partition: why nothing could be learnt there. */
  readonly #failed = new Map<number, unknown>();
  /** That it takes, about. */
  bytes = 0;

  constructor(partitions: number) {
    this.#partitions = partitions;
  }

  set(id: string, fact: Fact): void {
    const before = this.#facts.get(id);
    this.bytes += (fact.value?.length ?? 0) - (before?.value?.length ?? 0);
    if (before === undefined) this.bytes += ENTRY_BYTES + 2 * id.length;
    this.#facts.set(id, fact);
    if (fact.offset >= 0) this.#sizes.set(fact.offset, fact.bytes);
  }

  get(id: string): Fact | undefined {
    return this.#facts.get(id);
  }

  /** A plan looks at it. */
  wants(id: string): boolean {
    if (this.#facts.has(id)) return true;
    const parent = this.#chunks.size === 0 ? null : parentOfId(id);
    return parent !== null && this.#chunks.has(parent);
  }

  hasFailed(partition: number): boolean {
    return this.#failed.has(partition);
  }

  setFailed(partition: number, error: unknown): void {
    this.#failed.set(partition, error);
  }

  /** The partition has these chunks of the documents, and no others. */
  setChunks(
    partition: number,
    parents: readonly string[],
    {
      asOf,
      ids,
      removed,
      removedAfter,
    }: {
      readonly asOf: number;
      readonly ids: readonly string[];
      readonly removed: readonly string[];
      readonly removedAfter: number | null;
    },
  ): void {
    for (const parent of parents) this.#chunksOf(parent).asOf[partition] = asOf;
    for (const id of ids) {
      const chunks = this.#chunksOf(parentOfId(id)!);
      this.bytes += ENTRY_BYTES + 2 * id.length;
      chunks.ids.add(id);
      chunks.sorted = null;
    }
    for (const parent of removed) {
      const chunks = this.#chunksOf(parent);
      chunks.removedAfter = Math.max(chunks.removedAfter, removedAfter ?? -1);
    }
  }

  /** Of all documents. */
  get chunkIds(): readonly string[] {
    return [...this.#chunks.values()].flatMap(({ ids }) => [...ids]);
  }

  /** A batch of the log has put or removed it. */
  followId(id: string, sequence: number, removedAt: number | null): void {
    const parent = parentOfId(id);
    const chunks = parent === null ? undefined : this.#chunks.get(parent);
    if (chunks === undefined || chunks.asOf[partitionOf(id, this.#partitions)]! >= sequence) return;
    chunks.sorted = null;
    if (removedAt === null) {
      chunks.ids.add(id);
      return;
    }
    chunks.ids.delete(id);
    chunks.removedAfter = Math.max(chunks.removedAfter, removedAt - 1);
  }

  /** `null`: there is no such record. Throws where nobody has said. */
  require(id: string): Fact | null {
    const fact = this.#facts.get(id);
    if (fact !== undefined) return fact.offset < 0 ? null : fact;
    this.#requireHeard(partitionOf(id, this.#partitions));
    const parent = parentOfId(id);
    const chunks = parent === null ? undefined : this.#chunks.get(parent);
    if (chunks === undefined || chunks.ids.has(id)) throw new DataAbsent(null, "records");
    return null;
  }

  idsUnder(prefix: string, after: string | null, limit: number): readonly string[] {
    const chunks = this.#chunks.get(prefix.slice(0, -1));
    for (const partition of this.#failed.keys()) this.#requireHeard(partition);
    if (chunks === undefined) throw new DataAbsent(null, "records");
    const ids = (chunks.sorted ??= inOrder(chunks.ids));
    const from = after === null ? 0 : firstBehind(ids, Buffer.from(after));
    return ids.slice(from, from + limit).map(({ id }) => id);
  }

  /** As far as it was asked for. */
  *removedAfter(sequence: number): Generator<string> {
    for (const [id, { offset, removedAfter }] of this.#facts)
      if (offset < 0 && sequence <= removedAfter) yield id;
    for (const [parent, { removedAfter }] of this.#chunks) if (sequence <= removedAfter) yield `${parent}#0`;
  }

  storedBytes(offset: number): number {
    const bytes = this.#sizes.get(offset);
    if (bytes === undefined) throw new DataAbsent(null, "records");
    return bytes;
  }

  #chunksOf(parent: string): ChunkIds {
    let chunks = this.#chunks.get(parent);
    if (chunks === undefined) {
      chunks = { asOf: new Float64Array(this.#partitions), ids: new Set(), sorted: null, removedAfter: -1 };
      this.#chunks.set(parent, chunks);
    }
    return chunks;
  }

  #requireHeard(partition: number): void {
    if (this.#failed.has(partition)) throw this.#failed.get(partition);
  }
}

function inOrder(ids: Iterable<string>): readonly SortedId[] {
  const sorted = Array.from(ids, (id) => ({ id, key: Buffer.from(id) }));
  return sorted.sort((a, b) => Buffer.compare(a.key, b.key));
}

function firstBehind(ids: readonly SortedId[], after: Buffer): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Buffer.compare(ids[middle]!.key, after) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
