/** Rows of Parquet and Arrow files as JSON lines, read in a process of its own that holds one part of the file at a time. */
import { askWithinLimits, startChild } from "./bounded-child.ts";
import { TABLE_LIMITS } from "./parser-limits.ts";
import type { TableFormat } from "./tables/open-table.ts";
import type { TableColumns } from "./tables/table-columns.ts";

const FORMATS: Readonly<Record<string, TableFormat>> = {
  ".parquet": "parquet",
  ...{ ".arrow": "arrow", ".arrows": "arrow", ".feather": "arrow", ".ipc": "arrow" },
};

/** By the end of the name; `null`: it is no table. */
export function tableFormatOf(extension: string): TableFormat | null {
  return Object.hasOwn(FORMATS, extension) ? (FORMATS[extension] ?? null) : null;
}

export interface ReadTable {
  readonly path: string;
  readonly format: TableFormat;
  readonly columns: TableColumns;
  /** Rows that are passed over. */
  readonly from: number;
}

type Answer =
  | { readonly lines: readonly string[]; readonly isLast: boolean }
  | { readonly reason: string }
  | string;

/**
 * A line for each row: an object with `id` and any of `document`, `embedding` and `metadata`.
 *
 * @throws Error that says what is wrong with the file, or what it took too much of.
 */
export async function* tableLines(table: ReadTable): AsyncGenerator<string> {
  const child = startChild("table-process", TABLE_LIMITS);
  try {
    for (let request: ReadTable | "next" = table; ; request = "next") {
      const answer = (await askWithinLimits(child, request as object, TABLE_LIMITS)) as Answer;
      if (typeof answer === "string" || "reason" in answer)
        throw new Error(
          `${table.path} ${typeof answer === "string" ? answer : `cannot be read: ${answer.reason}`}`,
        );
      yield* answer.lines;
      if (answer.isLast) return;
    }
  } finally {
    child.kill("SIGKILL");
  }
}
