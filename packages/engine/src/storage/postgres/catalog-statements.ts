/** A commit of the catalog as statements over arrays: some, whatever the number of its entries, none of them large. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { CatalogCommit, CatalogWrite } from "../catalog/catalog-store.ts";
import { byteaArray } from "./bytea-array.ts";
import type { Statements } from "./statements.ts";

/** Of one statement, unless a single entry is larger: to be made without holding up the event loop. */
const MOST_ENTRIES = 2_000;
const MOST_BYTES = 512 * 1024;

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface StatementBatch {
  /** Each counts the conditions that do not hold. */
  readonly conditions: readonly Statement[];
  readonly changes: readonly Statement[];
}

type Bytes = readonly (Uint8Array | null)[];

/** The bytes of the commit are copied: it is read once, and can be sent again. */
export async function catalogStatements(
  sql: Statements["catalog"],
  { conditions, clears, writes }: CatalogCommit,
): Promise<StatementBatch> {
  const checks = new StatementList();
  for (const condition of conditions) {
    if ("range" in condition) {
      const { start, end } = condition.range;
      await checks.add(sql.brokenRanges, [start, end], condition.count);
    } else await checks.add(sql.broken, [condition.key, condition.value]);
  }
  const changes = new StatementList();
  for (const { start, end } of clears) await changes.add(sql.clear, [start, end]);
  changes.flush();
  for (const write of writes) await changes.add(...change(sql, write));
  return { conditions: checks.flush(), changes: changes.flush() };
}

function change(sql: Statements["catalog"], { key, value }: CatalogWrite): [string, Bytes] {
  return value === null ? [sql.remove, [key]] : [sql.put, [key, value]];
}

interface Columns {
  readonly bytes: (Uint8Array | null)[][];
  readonly numbers: number[];
  size: number;
}

/** Statements by their text; those of one list may run in any order. */
class StatementList {
  readonly #done: Statement[] = [];
  readonly #open = new Map<string, Columns>();

  async add(text: string, row: Bytes, number?: number): Promise<void> {
    const columns = this.#columns(text, row.length);
    for (const [i, value] of row.entries()) {
      columns.bytes[i]!.push(value);
      columns.size += value?.length ?? 0;
    }
    if (number !== undefined) columns.numbers.push(number);
    if (columns.size < MOST_BYTES && columns.bytes[0]!.length < MOST_ENTRIES) return;
    this.#close(text, columns);
    await nextTurn();
  }

  flush(): readonly Statement[] {
    for (const [text, columns] of this.#open) this.#close(text, columns);
    return this.#done;
  }

  #columns(text: string, width: number): Columns {
    const known = this.#open.get(text);
    if (known !== undefined) return known;
    const made = { bytes: Array.from({ length: width }, () => []), numbers: [], size: 0 };
    this.#open.set(text, made);
    return made;
  }

  #close(text: string, { bytes, numbers }: Columns): void {
    this.#open.delete(text);
    const values: unknown[] = bytes.map((column) => byteaArray(column));
    this.#done.push({ text, values: numbers.length > 0 ? [...values, numbers] : values });
  }
}
