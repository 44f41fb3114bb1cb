/** Rows of a Parquet file, one row group after the other. */
import {
  type SchemaTree,
  asyncBufferFromFile,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
} from "hyparquet";
import { compressors } from "hyparquet-compressors";
import type { Table } from "./open-table.ts";

const FLOATS: ReadonlySet<string> = new Set(["FLOAT", "DOUBLE"]);
/** What writers call the elements of lists. */
const LIST_LEVELS = /\.(?:list|bag)\.(?:element|item|array|array_element)/gu;

/** @throws Error for what is no Parquet file. */
export async function openParquet(path: string): Promise<Table> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const schema = parquetSchema(metadata);
  const floats = new Set<string>();
  addFloats(schema, floats);
  const names = schema.children.map(({ element }) => element.name);
  return {
    shape: { names, floats },
    async *groups(from) {
      let first = 0;
      for (const { num_rows: count } of metadata.row_groups) {
        const end = first + Number(count);
        if (end > from) {
          const rowStart = Math.max(first, from);
          const rows = await parquetReadObjects({ file, metadata, compressors, rowStart, rowEnd: end });
          if (rows.length !== end - rowStart)
            throw new Error(`has a row group of ${end - first} rows that holds others`);
          yield rows;
        }
        first = end;
      }
    },
  };
}

function addFloats({ children, element, path }: SchemaTree, floats: Set<string>): void {
  const isFloat = FLOATS.has(element.type ?? "") || element.logical_type?.type === "FLOAT16";
  if (children.length === 0 && isFloat) floats.add(path.join(".").replaceAll(LIST_LEVELS, ""));
  for (const child of children) addFloats(child, floats);
}
