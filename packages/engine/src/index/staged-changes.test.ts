/** A reader between the steps of a change: it sees all of a batch or nothing of it, whatever the background does meanwhile. */
import type { IndexPlan } from "@sheaf/protocol";
import { expect, it } from "vitest";
import { listBits } from "../segment/bits.ts";
import { randomOf } from "../segment/dense/testing/data-sets.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import { CollectionIndex } from "./collection-index.ts";
import type { IndexSnapshot } from "./index-snapshot.ts";

const PLAN: IndexPlan = { space: "l2", embeddingFunction: null, sparse: [] };
const IDS = 150;
const BATCHES = 120;
const LARGEST_BATCH = 100;

/** Sequence number by id. */
type State = ReadonlyMap<string, number>;

class Stored {
  readonly byId = new Map<string, StoredRecord>();
  readonly #byOffset = new Map<number, StoredRecord>();
  #sequence = 0;
  #nextOffset = 0;

  read(offset: number): StoredRecord | null {
    return this.#byOffset.get(offset) ?? null;
  }

  readVector(offset: number): StoredRecord | null {
    return this.read(offset);
  }

  put(id: string, metadata: StoredRecord["metadata"] = null): StoredRecord {
    const offset = this.byId.get(id)?.offset ?? this.#nextOffset++;
    const sequence = ++this.#sequence;
    const embedding = Float32Array.of(sequence, offset);
    const record = { id, offset, sequence, embedding, document: null, uri: null, metadata };
    this.byId.set(id, record);
    this.#byOffset.set(offset, record);
    return record;
  }

  /** The offset it had. */
  remove(id: string): number {
    const { offset } = this.byId.get(id)!;
    this.byId.delete(id);
    this.#byOffset.delete(offset);
    return offset;
  }

  get state(): State {
    return new Map([...this.byId].map(([id, { sequence }]) => [id, sequence]));
  }
}

const seed = Math.floor(Math.random() * 2 ** 31);

it(`shows the states between batches and no others (seed ${seed})`, () => {
  const random = randomOf(seed);
  const pick = (below: number): number => Math.floor(random() * below);
  const stored = new Stored();
  const index = new CollectionIndex(PLAN, stored, {
    sizes: { mutableRows: 64, sealedRows: 128 },
    denseRows: 80,
  });
  let before: State = new Map();
  let steps = 0;
  const held: [IndexSnapshot, State][] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const count = 1 + pick(LARGEST_BATCH);
    const removes = new Map<string, number>();
    const puts = new Map<string, StoredRecord>();
    for (let i = 0; i < count; i++) {
      const id = `r${pick(IDS)}`;
      // Some are removed and written again in the same batch, with another offset.
      if (stored.byId.has(id) && !puts.has(id) && pick(3) === 0) removes.set(id, stored.remove(id));
      if (!removes.has(id) || pick(2) === 0) puts.set(id, stored.put(id));
    }
    const after = stored.state;
    const change = index.change({
      removes: [...removes.values()].map((offset) => ({ offset, sequence: 0 })),
      puts: [...puts.values()],
    });
    while (change.next().done !== true) {
      steps++;
      if (pick(4) === 0) expect(index.maintain(true)).toBe(false);
      if (pick(8) === 0) expectState(index, before);
    }
    expectState(index, after);
    for (let i = pick(40); i > 0; i--) index.maintain(pick(2) === 0);
    expectState(index, after);
    held.push([index.snapshot(), after]);
    before = after;
    for (const [snapshot, state] of held.splice(0, held.length - 5))
      expect(statesOf(snapshot)).toEqual(state);
  }
  while (index.maintain(true));
  expectState(index, before);
  expect(steps).toBeGreaterThan(BATCHES);
  index.close();
});

it("moves a long record in the background in steps, which a change in between finishes", () => {
  const texts = Array.from({ length: 80_000 }, (_, i) => `text ${i}`);
  const ids = Array.from({ length: 64 }, (_, i) => `r${i}`);
  const stepsOf = (writesAt: number): number => {
    const stored = new Stored();
    const sizes = { mutableRows: 64, sealedRows: 128 };
    const index = new CollectionIndex(PLAN, stored, { sizes, denseRows: 1_000 });
    for (const id of ids) index.put(stored.put(id, id === "r60" ? new Map([["texts", texts]]) : null));
    index.put(stored.put("last"));
    // The last of these leaves the segment hollow.
    for (const id of ids.slice(0, 33)) index.remove(stored.remove(id));
    const [hollow] = index.segments;
    let steps = 0;
    while (index.segments[0] === hollow && steps < 1_000) {
      index.maintain(true);
      expectState(index, stored.state);
      if (++steps === writesAt) index.put(stored.put("r60"));
    }
    expectState(index, stored.state);
    index.close();
    return steps;
  };
  const steps = stepsOf(Infinity);
  // Seven moves, of which one has many steps.
  expect(steps).toBeGreaterThan(12);
  expect(steps).toBeLessThan(1_000);
  for (let at = 1; at < steps; at++) expect(stepsOf(at)).toBeLessThanOrEqual(steps);
});

function expectState(index: CollectionIndex, state: State): void {
  const snapshot = index.snapshot();
  expect(index.size).toBe(state.size);
  expect(statesOf(snapshot)).toEqual(state);
  for (let i = 0; i < IDS; i++) {
    const position = index.position(`r${i}`);
    expect(position === null ? undefined : snapshot.sequence(position)).toBe(state.get(`r${i}`));
  }
}

function statesOf(snapshot: IndexSnapshot): State {
  const positions = listBits(snapshot.live.words);
  const state = new Map(positions.map((position) => [snapshot.id(position), snapshot.sequence(position)]));
  expect(state.size).toBe(positions.length);
  return state;
}
