/** A partition whose index and records are in this process. */
import type { CancelSignal } from "@sheaf/protocol";
import { Pace } from "../pace.ts";
import type { QueryContext } from "../query-context.ts";
import { planSelection } from "../selection.ts";
import { StageTimes } from "../stage-times.ts";
import { LocalPartitionRead } from "./local-partition-read.ts";
import type { BegunRead, Partition, PartitionQuestion, SelectedIds } from "./partition.ts";

/** What keeps the partition as it is while it is read. */
export interface PartitionHold {
  /** Until the index has come to this state, or cannot come to it. */
  refresh(state: number): Promise<void>;
  /** Runs a part of the read, before whose end the index is not closed. */
  use<T>(work: () => Promise<T>): Promise<T>;
  /** It keeps so many bytes more; negative: so many less. Throws 429 or 503 where its tenant, or all, keep too much. */
  keep(bytes: number): void;
  /** The read is over. */
  release(): void;
}

/** It comes to its states by what it is told. */
const UNHELD: PartitionHold = {
  refresh: () => new Promise(() => {}),
  use: (work) => work(),
  keep: () => {},
  release: () => {},
};

export class LocalPartition implements Partition {
  readonly #context: (times: StageTimes) => QueryContext;
  /** They do not know yet at which state they are to stay. */
  readonly #moving = new Set<LocalPartitionRead>();
  #state: number;

  /** @param context For a read that begins; its index and its records are those of the partition. */
  constructor(context: (times: StageTimes) => QueryContext, state = 0) {
    this.#context = context;
    this.#state = state;
  }

  /** The index has come to this state of the collection, whether that has changed records of the partition or not. */
  passed(state: number): void {
    this.#state = state;
    for (const read of this.#moving) read.note(state, this.#moving.size);
  }

  /** @param hold Released with the read, or where none begins. */
  async begin(
    question: PartitionQuestion,
    ids: SelectedIds,
    signal?: CancelSignal,
    {
      times = new StageTimes(),
      hold = UNHELD,
    }: { readonly times?: StageTimes; readonly hold?: PartitionHold } = {},
  ): Promise<BegunRead> {
    let read: LocalPartitionRead | null = null;
    try {
      const context = this.#context(times);
      const pace = new Pace(signal, context.tenant);
      const selections = [];
      for (const { path, where } of question.filters)
        selections.push(await planSelection(context, { ids, where }, pace.signal, path));
      const ticket = await context.versions.open();
      const begun: LocalPartitionRead = new LocalPartitionRead({
        ...{ context, pace, question, selections, ticket, hold },
        onSettled: () => this.#moving.delete(begun),
      });
      read = begun;
      this.#moving.add(begun);
      begun.note(this.#state, this.#moving.size);
      return { state: this.#state, read: begun };
    } catch (error) {
      if (read === null) hold.release();
      else read.close();
      throw error;
    }
  }
}
