/**
 * What one writer has had acknowledged in a collection, operation by operation, so that the records of any state of it are known
 * by its sequence number.
 */
import type { ServedSheaf } from "../../e2e/testing/served-sheaf.ts";
import type { Choices } from "../choices.ts";

/** id -> what the record holds. */
export type Records = ReadonlyMap<string, number>;

type Operation = { readonly ids: readonly string[] } & (
  | { readonly kind: "upsert"; readonly values: readonly number[] }
  | { readonly kind: "delete" }
);

interface Page {
  readonly ids: readonly string[];
  readonly metadatas: readonly { readonly value: number }[];
}

const IDS = 300;
const MOST_IN_A_BATCH = 20;
const DELETE_SHARE = 0.2;

export class Journal {
  readonly id: string;
  readonly #path: string;
  readonly #choices: Choices;
  #first = { sequence: 0, records: new Map<string, number>() };
  #now = new Map<string, number>();
  #written: { readonly sequence: number; readonly operation: Operation }[] = [];
  #next = 0;

  constructor(id: string, path: string, choices: Choices) {
    this.id = id;
    this.#path = path;
    this.#choices = choices;
  }

  /** Writes until it is told to stop, or a write is not acknowledged. */
  async write(server: ServedSheaf, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const operation = this.#choose();
      const { ids } = operation;
      const answer = await (
        operation.kind === "delete"
          ? server.request(`${this.#path}/delete`, { json: { ids } })
          : server.request(`${this.#path}/upsert`, { json: bodyOf(ids, operation.values) })
      ).catch(() => null);
      if (answer?.ok !== true) return;
      await answer.text();
      this.#apply(operation);
    }
  }

  /** Takes what is there for what was written: the last write may have been done or not. */
  async settle(server: ServedSheaf): Promise<void> {
    const { ids, metadatas } = await server.ask<Page>(`${this.#path}/get`, { include: ["metadatas"] });
    // After the read: while it is being opened, a collection counts what the catalog knows.
    const status = await server.ask<{ readonly total_ops: number }>(`${this.#path}/indexing_status`);
    const records = new Map(ids.map((id, i) => [id, metadatas[i]?.value ?? Number.NaN]));
    this.#first = { sequence: status.total_ops, records };
    this.#now = new Map(records);
    this.#written = [];
  }

  /** `null`: no state of this number was acknowledged. */
  stateAt(sequence: number): Records | null {
    const records = new Map(this.#first.records);
    if (sequence === this.#first.sequence) return records;
    for (const { sequence: reached, operation } of this.#written) {
      change(records, operation);
      if (reached === sequence) return records;
    }
    return null;
  }

  #choose(): Operation {
    const count = 1 + this.#choices.below(MOST_IN_A_BATCH);
    const ids = [...new Set(Array.from({ length: count }, () => `r${this.#choices.below(IDS)}`))];
    const there = ids.filter((id) => this.#now.has(id));
    if (there.length > 0 && this.#choices.chance(DELETE_SHARE)) return { kind: "delete", ids: there };
    return { kind: "upsert", ids, values: ids.map(() => this.#next++) };
  }

  #apply(operation: Operation): void {
    change(this.#now, operation);
    const before = this.#written.at(-1)?.sequence ?? this.#first.sequence;
    this.#written.push({ sequence: before + operation.ids.length, operation });
  }
}

/** Of a record with this value. */
export function embeddingOf(value: number): readonly number[] {
  return [Math.sin(value), Math.cos(value), value % 7];
}

function change(records: Map<string, number>, operation: Operation): void {
  for (const [i, id] of operation.ids.entries()) {
    if (operation.kind === "delete") records.delete(id);
    else records.set(id, operation.values[i] ?? Number.NaN);
  }
}

function bodyOf(ids: readonly string[], values: readonly number[]): object {
  return {
    ids,
    embeddings: values.map(embeddingOf),
    metadatas: values.map((value) => ({ value })),
  };
}
