/** Rows of an Arrow file (Feather, version 2) or stream, one record batch after the other. */
import { type FileHandle, open } from "node:fs/promises";
import {
  CompressionType,
  DataType,
  type Field,
  type RecordBatch,
  RecordBatchReader,
  compressionRegistry,
} from "apache-arrow";
import { decompressZstd } from "hyparquet-compressors";
import { decompress as decompressLz4 } from "lz4js";
import type { Table } from "./open-table.ts";

// Copied to where numbers of 64 bits may begin.
compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: (data) => decompressLz4(data).slice() });
compressionRegistry.set(CompressionType.ZSTD, { decode: (data) => decompressZstd(data).slice() });

/** @throws Error for what is no Arrow file. */
export async function openArrow(path: string): Promise<Table> {
  const file: FileHandle = await open(path);
  const reader = await RecordBatchReader.from(file);
  await reader.open();
  const { fields } = reader.schema;
  const floats = new Set<string>();
  for (const field of fields) addFloats(field, field.name, floats);
  return {
    shape: { names: fields.map(({ name }) => name), floats },
    async *groups(from) {
      let first = 0;
      for await (const batch of reader as AsyncIterable<RecordBatch>) {
        const end = first + batch.numRows;
        if (end > from) yield rowsOf(batch, Math.max(0, from - first));
        first = end;
      }
      await file.close();
    },
  };
}

function addFloats(field: Field, path: string, floats: Set<string>): void {
  const { type } = field;
  if (DataType.isFloat(type)) floats.add(path);
  else if (DataType.isStruct(type)) {
    for (const child of type.children) addFloats(child, `${path}.${child.name}`, floats);
  } else if (DataType.isList(type) || DataType.isFixedSizeList(type)) {
    for (const child of type.children) addFloats(child, path, floats);
  }
}

function* rowsOf(batch: RecordBatch, from: number): Generator<Readonly<Record<string, unknown>>> {
  const columns = batch.schema.fields.map(({ name, type }, i) => {
    const isTime = DataType.isTimestamp(type) || DataType.isDate(type);
    return { name, isTime, isText: DataType.isDecimal(type), vector: batch.getChildAt(i) };
  });
  for (let row = from; row < batch.numRows; row++) {
    const record: Record<string, unknown> = {};
    for (const { name, isTime, isText, vector } of columns) {
      const value: unknown = vector?.get(row) ?? null;
      const isPlain = value === null || !(isTime || isText);
      record[name] = isPlain ? value : isTime ? new Date(Number(value)) : `${value as bigint}`;
    }
    yield record;
  }
}
