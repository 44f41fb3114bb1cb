/**
 * A view of the log of a collection in partitions that has no records: it knows the head of the log, and asks those that have the
 * partitions for what a plan looks at. What they say is of a state that is as new as this view, or newer; the view follows the log
 * to that state before the plan is made, so the plan sees one state. That it still is the newest one when the batch is
 * appended the log decides, as for any writer.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { SheafError } from "@sheaf/protocol";
import { DataAbsent } from "../../data-absent.ts";
import type { StoreChange, StoreHead, StoreView, StoredChange } from "../../record-store.ts";
import { type Steps, afterSteps, isInSteps, runInTurns } from "../../steps.ts";
import type { StoredRecord } from "../../stored-record.ts";
import { CorruptDataError, type DataOrigin } from "../../corrupt-data-error.ts";
import { decodeRecord, decodeRecordInSteps, isLongValue } from "../../values/value-codec.ts";
import { ValueWriter } from "../../values/value-writer.ts";
import { encodeValue } from "../batch-codec.ts";
import type { AskedRecords, LogView } from "../log-view.ts";
import type { Fact, KnownRecords, OpenedFacts } from "./known-records.ts";
import { LearntRecords } from "./learnt-records.ts";
import type { PinnedRecords } from "./pinned-records.ts";
import type { AnsweredState, AskPartition } from "./records-question.ts";

/** How long an opening waits for a partition before it asks the next one, too. */
const NEXT_MS = 250;

export interface AskedViewOptions {
  /** Of the collection, for messages. */
  readonly id: string;
  readonly tenant: string;
  readonly partitions: number;
  readonly ask: AskPartition;
  readonly known: KnownRecords;
}

export class AskedView implements LogView {
  readonly asked: AskedRecords;
  readonly #id: string;
  readonly #facts: OpenedFacts;
  readonly #learnt: LearntRecords;
  readonly #writer = new ValueWriter();
  #head: StoreHead;
  #batch: string;
  /** Settles with the batches that it was told to follow. */
  #following: Promise<void> = Promise.resolve();

  private constructor({ id, tenant, partitions, ask, known }: AskedViewOptions, state: AnsweredState) {
    this.#id = id;
    this.#facts = known.open(tenant);
    const { batch, ...head } = state;
    [this.#head, this.#batch] = [head, batch];
    const now = (): AnsweredState => ({ ...this.#head, batch: this.#batch });
    this.#learnt = new LearntRecords({ partitions, ask, facts: this.#facts, now });
    this.asked = this.#learnt;
  }

  /** At a state that some partition has come to. The next one is asked, too, where those before it have not answered soon. */
  static async open(options: AskedViewOptions): Promise<AskedView> {
    const question = { kind: "offsets", offsets: new Float64Array() } as const;
    const asked: Promise<AnsweredState>[] = [];
    for (let partition = 0; partition < options.partitions; partition++) {
      asked.push(options.ask(partition, question).then(({ state }) => state));
      const answered = Promise.any(asked).catch(() => null);
      const state = await Promise.race([answered, sleep(NEXT_MS, null)]);
      if (state !== null) return new AskedView(options, state);
    }
    try {
      return new AskedView(options, await Promise.any(asked));
    } catch (error) {
      throw error instanceof AggregateError ? error.errors.at(-1) : error;
    }
  }

  get head(): StoreHead {
    return this.#head;
  }

  get batch(): string | null {
    return this.#batch === "" ? null : this.#batch;
  }

  get completeFrom(): number {
    return this.#learnt.completeFrom;
  }

  get #pinned(): PinnedRecords {
    return this.#learnt.pinned;
  }

  follow(plan: (view: StoreView) => Steps<StoreChange>, batch: string): Promise<void> {
    const followed = this.#following.then(() => this.#follow(plan, batch));
    this.#following = followed.catch(() => undefined);
    return followed;
  }

  async #follow(plan: (view: StoreView) => Steps<StoreChange>, batch: string): Promise<void> {
    const planned = plan(this);
    const change = isInSteps(planned) ? await runInTurns(planned) : planned;
    await runInTurns(this.#note(change));
    this.#head = change.head;
    this.#batch = batch;
    this.#learnt.followed(change.head.sequence, batch);
  }

  *#note({ head: { sequence: asOf }, puts, removes, values }: StoreChange): Generator<void, void> {
    for (const { id, sequence } of removes) {
      const gone = { offset: -1, bytes: 0, value: null, removedAfter: sequence - 1, keptAfter: sequence };
      this.#replace(id, { asOf, ...gone });
      this.#pinned.followId(id, asOf, sequence);
      yield;
    }
    for (const [i, record] of puts.entries()) {
      const { id, offset } = record;
      const own = values?.[i];
      // What others write is asked for again where it is wanted again.
      if (own === undefined && !this.#pinned.wants(id)) this.#forget(id, asOf);
      else {
        const value = own === undefined ? yield* encodeValue(this.#writer, record) : new Uint8Array(own);
        this.#replace(id, {
          asOf,
          offset,
          bytes: value.length,
          value,
          removedAfter: -1,
          keptAfter: Infinity,
        });
      }
      this.#pinned.followId(id, asOf, null);
      yield;
    }
  }

  /** Unless what is known is of a newer state. Of the same one it may be what the batch has removed before it put it again. */
  #replace(id: string, fact: Fact): void {
    if (this.#pinned.wants(id) && (this.#pinned.get(id)?.asOf ?? -1) <= fact.asOf) this.#pinned.set(id, fact);
    if ((this.#facts.get(id)?.asOf ?? -1) <= fact.asOf) this.#facts.set(id, fact);
  }

  #forget(id: string, asOf: number): void {
    if ((this.#facts.get(id)?.asOf ?? Infinity) <= asOf) this.#facts.delete(id);
  }

  offsetOf(id: string): number | null {
    return this.#pinned.require(id)?.offset ?? null;
  }

  idsUnder(prefix: string, after: string | null, limit: number): readonly string[] {
    return this.#pinned.idsUnder(prefix, after, limit);
  }

  find(id: string): StoredRecord | null {
    const fact = this.#pinned.require(id);
    return (
      fact && this.#requireId(decodeRecord(valueOf(fact), fact.offset, { origin: this.#origin(id) }), id)
    );
  }

  findInSteps(id: string): Steps<StoredRecord | null> {
    const fact = this.#pinned.require(id);
    if (fact === null || !isLongValue(fact.bytes)) return this.find(id);
    const steps = decodeRecordInSteps(new Uint8Array(valueOf(fact)), fact.offset, this.#origin(id));
    return afterSteps(steps, (record) => this.#requireId(record, id));
  }

  removedAfter(sequence: number): Iterable<string> {
    return this.#pinned.removedAfter(sequence);
  }

  storedBytes(offset: number): number {
    return this.#pinned.storedBytes(offset);
  }

  #requireId(record: StoredRecord, id: string): StoredRecord {
    if (record.id === id) return record;
    throw new CorruptDataError(this.#origin(id), 0, `is of another record, offset ${record.offset}`);
  }

  #origin(id: string): DataOrigin {
    return { store: `what partitions say of ${this.#id}`, key: Buffer.from(id) };
  }

  changesAfter(): Iterable<StoredChange> | "trimmed" {
    return "trimmed";
  }

  keepChangesAfter(): void {}

  requireWhole(): void {}

  async forgetUpTo(): Promise<void> {}

  async close(): Promise<void> {
    await this.#following;
  }

  read(): never {
    throw absent();
  }

  readInSteps(): never {
    throw absent();
  }

  readVector(): never {
    throw absent();
  }

  readDocument(): never {
    throw absent();
  }

  documentBytes(): never {
    throw absent();
  }

  readDistance(): never {
    throw absent();
  }

  scan(): never {
    throw absent();
  }

  idAt(): never {
    throw absent();
  }

  apply(): never {
    throw absent();
  }
}

function valueOf({ value }: Fact): Uint8Array {
  if (value === null) throw absent();
  return value;
}

function absent(): SheafError {
  return new DataAbsent(null, "records");
}
