/** Asks the partitions of a collection for what plans look at, and checks that they know the same log. */
import { type ByteLease, SheafError } from "@sheaf/protocol";
import type { PlanNeeds } from "../../record-store.ts";
import type { AskedRecords } from "../log-view.ts";
import { partitionOf } from "../partition-of.ts";
import type { Fact, OpenedFacts } from "./known-records.ts";
import { PinnedRecords } from "./pinned-records.ts";
import {
  type AnsweredState,
  type AskPartition,
  MOST_ASKED,
  MOST_ASKED_PARENTS,
  type RecordsAnswer,
  type RecordsQuestion,
} from "./records-question.ts";

/** Of the records that one plan looks at. */
export const MOST_LEARNT_BYTES = 256 * 1024 * 1024;
/** A lease grows by so many at least. */
const LEASED_BYTES = 64 * 1024;

export interface LearningParts {
  readonly partitions: number;
  readonly ask: AskPartition;
  readonly facts: OpenedFacts;
  /** The state that the view has come to. */
  readonly now: () => AnsweredState;
}

const OVER = {
  code: "too_large",
  message: `the records that the write changes take over ${MOST_LEARNT_BYTES / 2 ** 20} MiB; write fewer at once`,
  retryAfterSeconds: undefined,
} as const;

export class LearntRecords implements AskedRecords {
  readonly #parts: LearningParts;
  /** By sequence number, the batches of states that answers are of and that the view has not come to yet. */
  readonly #expected = new Map<number, string>();
  #isOther = false;
  /** Of records that are pinned. */
  #mostBytes = 0;
  #lease: ByteLease;
  pinned: PinnedRecords;
  /** As of `StoreView`, for what was asked. */
  completeFrom = 0;

  constructor(parts: LearningParts) {
    this.#parts = parts;
    this.#lease = parts.facts.lease();
    this.pinned = new PinnedRecords(parts.partitions);
  }

  async learn(needs: readonly PlanNeeds[], mostBytes: number): Promise<number> {
    this.#mostBytes = mostBytes;
    this.forget();
    await this.#learnChunks(needs);
    const chunks = this.pinned.chunkIds;
    await this.#learnFacts(chunks.length === 0 ? needs : [...needs, { ids: chunks }]);
    return Math.max(this.#parts.now().sequence, ...this.#expected.keys());
  }

  forget(): void {
    this.#lease.release();
    this.#lease = this.#parts.facts.lease();
    this.pinned = new PinnedRecords(this.#parts.partitions);
    this.completeFrom = 0;
  }

  async idsAt(offsets: readonly number[]): Promise<readonly string[]> {
    const { ask, partitions } = this.#parts;
    const found: string[] = [];
    for (let from = 0; from < offsets.length; from += MOST_ASKED) {
      const some = Float64Array.from(offsets.slice(from, from + MOST_ASKED));
      const asked = Array.from({ length: partitions }, (_, n) => ask(n, { kind: "offsets", offsets: some }));
      for (const { ids } of await Promise.all(asked)) found.push(...ids);
    }
    return found;
  }

  /** The view has come to this state. */
  followed(sequence: number, batch: string): void {
    if ((this.#expected.get(sequence) ?? batch) !== batch) this.#isOther = true;
    this.#expected.delete(sequence);
  }

  requireSame(): void {
    if (!this.#isOther && this.#expected.size === 0) return;
    this.#expected.clear();
    this.#isOther = false;
    this.#parts.facts.clear();
    throw ofAnotherLog();
  }

  async #learnChunks(needs: readonly PlanNeeds[]): Promise<void> {
    const questions = new Map<number | null, Set<string>>();
    for (const { parents = [], removedAfter = null } of needs) {
      const all = questions.get(removedAfter) ?? new Set();
      for (const parent of parents) all.add(parent);
      questions.set(removedAfter, all);
    }
    const asked = Array.from({ length: this.#parts.partitions }, (_, partition) =>
      this.#hear(partition, async () => {
        for (const [removedAfter, parents] of questions)
          await this.#askForChunks(partition, [...parents], removedAfter);
      }),
    );
    await allOf(asked);
  }

  async #askForChunks(
    partition: number,
    parents: readonly string[],
    removedAfter: number | null,
  ): Promise<void> {
    for (let from = 0; from < parents.length; from += MOST_ASKED_PARENTS) {
      const some = parents.slice(from, from + MOST_ASKED_PARENTS);
      const answer = await this.#ask(partition, { kind: "chunks", parents: some, removedAfter });
      this.pinned.setChunks(partition, some, { ...answer, asOf: answer.state.sequence, removedAfter });
      this.#noteComplete(answer, removedAfter);
      this.#requireFits();
    }
  }

  async #learnFacts(needs: readonly PlanNeeds[]): Promise<void> {
    const questions = new Map<string, AskedFacts>();
    for (const { ids, bare = false, removedAfter = null } of needs) {
      for (const id of ids) {
        if (this.#isKnown(id, bare, removedAfter)) continue;
        const partition = partitionOf(id, this.#parts.partitions);
        // Whoever did not say which chunks there are is not waited for again.
        if (this.pinned.hasFailed(partition)) continue;
        const key = `${partition}/${bare}/${removedAfter}`;
        const question = questions.get(key) ?? { partition, bare, removedAfter, ids: new Set() };
        question.ids.add(id);
        questions.set(key, question);
      }
    }
    const asked = [...questions.values()].map((question) =>
      this.#hear(question.partition, () => this.#askForFacts(question)),
    );
    await allOf(asked);
  }

  /** What is known of it is kept from now on. */
  #isKnown(id: string, bare: boolean, removedAfter: number | null): boolean {
    const fact = this.pinned.get(id) ?? this.#parts.facts.get(id);
    if (fact === undefined) return false;
    this.#pin(id, fact);
    if (fact.offset >= 0) return bare || fact.value !== null;
    return removedAfter === null || removedAfter <= fact.removedAfter || removedAfter >= fact.keptAfter;
  }

  async #askForFacts({ partition, ids, bare, removedAfter }: AskedFacts): Promise<void> {
    const all = [...ids];
    for (let from = 0; from < all.length;) {
      const some = all.slice(from, from + MOST_ASKED);
      const answer = await this.#ask(partition, { kind: "facts", ids: some, bare, removedAfter });
      this.#noteComplete(answer, removedAfter);
      for (const [id, fact] of factsOf(some, answer, removedAfter)) {
        const known = this.pinned.get(id);
        const merged = known === undefined ? fact : mergeFacts(known, fact);
        this.#parts.facts.set(id, merged);
        this.#pin(id, merged);
      }
      from += Math.max(1, answer.offsets.length);
    }
  }

  #pin(id: string, fact: Fact): void {
    this.pinned.set(id, fact);
    this.#requireFits();
  }

  #requireFits(): void {
    const { bytes } = this.pinned;
    if (bytes > this.#mostBytes) throw new TooMuchLearnt();
    try {
      if (bytes > this.#lease.bytes) this.#lease.grow(Math.max(bytes - this.#lease.bytes, LEASED_BYTES));
    } catch (error) {
      throw new TooMuchLearnt(error as SheafError);
    }
  }

  async #ask(partition: number, question: RecordsQuestion): Promise<RecordsAnswer> {
    const { ask, now } = this.#parts;
    const answer = await ask(partition, question);
    const { sequence, batch } = answer.state;
    const here = now();
    const expected = sequence === here.sequence ? here.batch : (this.#expected.get(sequence) ?? batch);
    if (sequence < here.sequence || expected !== batch) this.#isOther = true;
    if (sequence > here.sequence) this.#expected.set(sequence, batch);
    return answer;
  }

  #noteComplete({ completeFrom }: RecordsAnswer, removedAfter: number | null): void {
    if (removedAfter !== null) this.completeFrom = Math.max(this.completeFrom, completeFrom);
  }

  /** Plans that look at what this partition has are told why it is not known; others go on. */
  async #hear(partition: number, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof TooMuchLearnt) throw error;
      this.pinned.setFailed(partition, error);
    }
  }
}

interface AskedFacts {
  readonly partition: number;
  readonly bare: boolean;
  readonly removedAfter: number | null;
  readonly ids: Set<string>;
}

/** Plans together look at more than fits into memory, or into what others have left of it. */
export class TooMuchLearnt extends SheafError {
  constructor({
    code,
    message,
    retryAfterSeconds,
  }: Pick<SheafError, "code" | "message" | "retryAfterSeconds"> = OVER) {
    super(code, message, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
    this.name = "TooMuchLearnt";
  }
}

function* factsOf(
  ids: readonly string[],
  { state: { sequence: asOf }, completeFrom, offsets, sizes, values, removed }: RecordsAnswer,
  askedAfter: number | null,
): Generator<[string, Fact]> {
  const gone = new Set(removed);
  let at = 0;
  for (const [i, offset] of offsets.entries()) {
    const [id, bytes] = [ids[i]!, sizes[i]!];
    const value = offset < 0 || values.length === 0 ? null : values.slice(at, (at += bytes));
    const isAsked = offset < 0 && askedAfter !== null;
    const removedAfter = isAsked && gone.has(id) ? askedAfter : -1;
    // What was removed before `completeFrom` the partition does not know any more.
    const isKept = isAsked && askedAfter >= completeFrom && !gone.has(id);
    const keptAfter = isKept ? askedAfter : Infinity;
    yield [id, { asOf, offset, bytes, value, removedAfter, keptAfter }];
  }
}

/** Of the same id, both of states from which on the log is followed. */
function mergeFacts(one: Fact, other: Fact): Fact {
  if (one.offset < 0 && other.offset < 0)
    return {
      ...other,
      asOf: Math.min(one.asOf, other.asOf),
      removedAfter: Math.max(one.removedAfter, other.removedAfter),
      keptAfter: Math.min(one.keptAfter, other.keptAfter),
    };
  return one.value !== null && other.value === null ? one : other;
}

/** Nothing of them is under way any more once this settles: what is heard late would be taken for what others look at. */
async function allOf(asked: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(asked);
  await Promise.all(asked);
}

function ofAnotherLog(): SheafError {
  const words = "the servers of the collection's partitions know another state of it; try again";
  return new SheafError("unavailable", words, { retryAfterSeconds: 1 });
}
