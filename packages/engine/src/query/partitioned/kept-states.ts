/**
 * The states that a read of a partition goes through from when it begins until it is told at which one it stays. The newest of
 * those that all partitions have begun with is one of them, unless others have written so much meanwhile that it was let go.
 */
import { Cancellation, SheafError, abortable } from "@sheaf/protocol";
import type { ReadTicket } from "../../storage/version-history.ts";
import { namedRecords } from "../explain/explain-search.ts";
import type { NamedRecord } from "../explain/why-not.ts";
import { candidatePositions } from "../filter/filter.ts";
import type { Pace } from "../pace.ts";
import type { QueryContext } from "../query-context.ts";
import { RecordView } from "../record-view.ts";
import type { Selection } from "../selection.ts";
import type { PartitionHold } from "./local-partition.ts";
import type { PartitionQuestion } from "./partition.ts";

/** Where others write more within a round trip, the read begins again. */
const MOST_STATES = 64;
/** As long as a use waits for its collection. */
const SETTLE_MS = 10_000;
const NAMED_BYTES = 64;

/** The same for all sequence numbers between which nothing of the partition has changed. */
export interface PartitionState {
  readonly view: RecordView;
  /** By selection: what ids leave over; `null`: all. */
  readonly candidates: readonly (Int32Array | null)[];
  /** By list: the records that its search is to be explained for. */
  readonly named: readonly (readonly NamedRecord[])[];
  /** That are charged for it. */
  readonly bytes: number;
}

export interface KeptStatesOptions {
  readonly context: QueryContext;
  readonly pace: Pace;
  readonly question: PartitionQuestion;
  readonly selections: readonly Selection[];
  /** Closed with the read. */
  readonly ticket: ReadTicket;
  readonly hold: PartitionHold;
}

interface KeptState {
  readonly sequence: number;
  readonly state: PartitionState;
}

export class KeptStates {
  readonly #options: KeptStatesOptions;
  #kept: KeptState[] = [];
  /** Its tenant keeps too much. */
  #refusal: unknown = null;
  #onNoted = (): void => {};

  constructor(options: KeptStatesOptions) {
    this.#options = options;
  }

  /** The index is at this state now, which so many reads keep. Never throws: the index goes on in any case. */
  note(sequence: number, sharing: number): void {
    if (this.#refusal !== null) return;
    try {
      this.#kept.push({ sequence, state: this.#stateNow(sharing) });
      if (this.#kept.length > MOST_STATES) this.#letGo(1);
    } catch (error) {
      this.#refusal = error;
      this.#letGo(this.#kept.length);
    }
    this.#onNoted();
  }

  /** `null`: it was let go. 503 where the index does not get there: it is broken, or that takes long. What `keep` has thrown. */
  async settle(sequence: number): Promise<PartitionState | null> {
    // Another partition began later. What it has seen is in the log by now.
    if (!this.#isPast(sequence)) await this.#comeTo(sequence);
    if (this.#refusal !== null) throw this.#refusal;
    const found = this.#kept.find((each) => each.sequence === sequence)?.state;
    if (found === undefined) return null;
    this.#letGo(this.#kept.length, found);
    return found;
  }

  #stateNow(sharing: number): PartitionState {
    const { context, question, selections, ticket, hold } = this.#options;
    const snapshot = context.index.snapshot();
    const last = this.#kept.at(-1)?.state;
    if (last?.view.snapshot === snapshot) return last;
    const view = new RecordView(snapshot, context.reader, ticket, context.documents);
    // Places of ids are those of the newest snapshot, which this is now.
    const candidates = selections.map((selection) => candidatePositions(context.index, selection, view));
    const named = question.lists.map(
      ({ search }) => (search && namedRecords(search, context.index, snapshot)) ?? [],
    );
    const own = candidates.reduce((sum, rows) => sum + (rows?.byteLength ?? 0), 0);
    const ofNamed = named.reduce((sum, { length }) => sum + length * NAMED_BYTES, 0);
    // The index itself keeps one snapshot in any case.
    const shared = last === undefined ? 0 : snapshot.live.words.byteLength / sharing;
    const bytes = Math.ceil(own + ofNamed + shared);
    hold.keep(bytes);
    return { view, candidates, named, bytes };
  }

  /** The oldest. What `stays` is charged for goes with the read. */
  #letGo(count: number, stays?: PartitionState): void {
    for (; count > 0; count--) {
      const { state } = this.#kept.shift()!;
      if (state !== this.#kept[0]?.state && state !== stays) this.#options.hold.keep(-state.bytes);
    }
  }

  #isPast(sequence: number): boolean {
    return this.#refusal !== null || (this.#kept.at(-1)?.sequence ?? Infinity) >= sequence;
  }

  async #comeTo(sequence: number): Promise<void> {
    const { hold, pace } = this.#options;
    const refreshed = hold
      .use(() => hold.refresh(sequence))
      .then(() => {
        if (!this.#isPast(sequence)) throw isBehind();
      });
    const late = new Cancellation();
    const timer = setTimeout(() => late.abort(isBehind()), SETTLE_MS).unref();
    try {
      await abortable(abortable(Promise.race([refreshed, this.#noted(sequence)]), late), pace.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async #noted(sequence: number): Promise<void> {
    while (!this.#isPast(sequence)) await new Promise<void>((resolve) => (this.#onNoted = resolve));
  }
}

function isBehind(): SheafError {
  const words = "a partition of the collection is behind the others; try again";
  return new SheafError("unavailable", words, { retryAfterSeconds: 1 });
}
