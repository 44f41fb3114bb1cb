/** Reads a table that its parent names, some rows for each request. Its parent ends it when that takes too much memory or time. */
import { withoutNetwork } from "./no-network.ts";
import { TABLE_LIMITS } from "./parser-limits.ts";
import { type TableFormat, openTable } from "./tables/open-table.ts";
import { type TableColumns, recordLine, rolesOf } from "./tables/table-columns.ts";

export interface TableRequest {
  readonly path: string;
  readonly format: TableFormat;
  readonly columns: TableColumns;
  /** Rows that are passed over. */
  readonly from: number;
}

withoutNetwork();
let lines: AsyncGenerator<string> | null = null;

process.on("message", (request: TableRequest | "next") => {
  if (request !== "next") lines = linesOf(request);
  void nextLines().then(
    (answer) => process.send?.(answer),
    (error: unknown) => process.send?.({ reason: error instanceof Error ? error.message : String(error) }),
  );
});
// Its parent is gone.
process.on("disconnect", () => process.exit(0));

async function nextLines(): Promise<{ readonly lines: readonly string[]; readonly isLast: boolean }> {
  const found: string[] = [];
  let characters = 0;
  while (found.length < TABLE_LIMITS.rowsPerAnswer && characters < TABLE_LIMITS.charactersPerAnswer) {
    const next = await lines!.next();
    if (next.done === true) return { lines: found, isLast: true };
    found.push(next.value);
    characters += next.value.length;
  }
  return { lines: found, isLast: false };
}

async function* linesOf({ path, format, columns, from }: TableRequest): AsyncGenerator<string> {
  const table = await openTable(path, format);
  const { shape } = table;
  const roles = rolesOf(shape, columns);
  for await (const rows of table.groups(from)) for (const row of rows) yield recordLine(row, roles, shape);
}
