/** A partition whose index and records are in this process. */
import type { CancelSignal } from "@sheaf/protocol";
import { Pace } from "../pace.ts";
import type { QueryContext } from "../query-context.ts";
import { planSelection } from "../selection.ts";
import { LocalPartitionRead } from "./local-partition-read.ts";
import type { BegunRead, Partition, PartitionQuestion } from "./partition.ts";

export class LocalPartition implements Partition {
  readonly #context: () => QueryContext;
  /** They do not know yet at which state they are to stay. */
  readonly #moving = new Set<LocalPartitionRead>();
  #state: number;

  /** @param context For a read that begins; its index and its records are those of the partition. */
  constructor(context: () => QueryContext, state = 0) {
    this.#context = context;
    this.#state = state;
  }

  /** The index has come to this state of the collection, whether that has changed records of the partition or not. */
  passed(state: number): void {
    this.#state = state;
    for (const read of this.#moving) read.note(state);
  }

  async begin(question: PartitionQuestion, signal?: CancelSignal): Promise<BegunRead> {
    const context = this.#context();
    const pace = new Pace(signal, context.tenant);
    const selections = [];
    for (const { path, ...selector } of question.selections)
      selections.push(await planSelection(context, selector, pace.signal, path));
    const ticket = await context.versions.open();
    const read: LocalPartitionRead = new LocalPartitionRead({
      ...{ context, pace, question, selections, ticket },
      onSettled: () => this.#moving.delete(read),
    });
    this.#moving.add(read);
    try {
      read.note(this.#state);
      return { state: this.#state, read };
    } catch (error) {
      read.close();
      throw error;
    }
  }
}
