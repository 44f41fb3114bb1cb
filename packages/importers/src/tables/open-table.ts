/** What is read of a table, whatever its format. Runs in the process of the tables only. */
import { openArrow } from "./arrow-table.ts";
import { openParquet } from "./parquet-table.ts";
import type { TableShape } from "./table-columns.ts";

export interface Table {
  readonly shape: TableShape;
  /** Rows from one on, in parts that the file has. */
  groups(from: number): AsyncIterable<Iterable<Readonly<Record<string, unknown>>>>;
}

export type TableFormat = "parquet" | "arrow";

export function openTable(path: string, format: TableFormat): Promise<Table> {
  return format === "parquet" ? openParquet(path) : openArrow(path);
}
