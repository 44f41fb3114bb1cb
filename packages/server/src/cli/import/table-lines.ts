/** The rows of a Parquet or Arrow file as the JSON lines that `importLines` takes. */
import { extname } from "node:path";
import { SheafError } from "@sheaf/protocol";
import type { OptionTexts } from "../command.ts";
import { loadImporters } from "./folder/load-importers.ts";
import type { ImportRequest } from "./import-lines.ts";

const TABLE = /^\.(?:parquet|arrows?|feather|ipc)$/u;

/** By the end of its name. */
export function isTable(path: string): boolean {
  return TABLE.test(extname(path).toLowerCase());
}

/** @throws SettingError where the parsers are not installed. */
export async function readTable(
  path: string,
  { idColumn: id, documentColumn: document, embeddingColumn: embedding }: OptionTexts,
): Promise<Pick<ImportRequest, "lines"> & { readonly columns: object }> {
  const { tableFormatOf, tableLines } = await loadImporters();
  const format = tableFormatOf(extname(path).toLowerCase())!;
  const columns = { id, document, embedding };
  return {
    columns,
    async *lines(from) {
      try {
        for await (const line of tableLines({ path, format, columns, from })) yield Buffer.from(line);
      } catch (cause) {
        throw new SheafError("invalid_argument", (cause as Error).message, { cause });
      }
    },
  };
}
