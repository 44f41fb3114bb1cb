/** Writes the records of a collection at one state as one file, for `RecordFile`. */
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import { PARTITIONS_FEATURE } from "../files/footer.ts";
import { type FileIdentity, type SectionWriter, writeSections } from "../files/section-writer.ts";
import type { SegmentFiles } from "../files/segment-files.ts";
import { runInTurns } from "../steps.ts";
import type { StoredRecord } from "../stored-record.ts";
import { ValueWriter } from "../values/value-writer.ts";
import { encodeValue } from "./batch-codec.ts";
import { DirectorySpool } from "./changed/directory-spool.ts";
import type { RecordSource } from "./changed/record-source.ts";
import { type FileHead, type FilePart, SECTION } from "./record-file.ts";

/** In memory is a piece, and 24 bytes for each record where the source has no place for them. */
export async function writeRecordFile(
  files: SegmentFiles,
  name: string,
  source: RecordSource,
  signal: CancelSignal,
): Promise<FileIdentity> {
  const { head, partitions, scratch, expectedBytes } = source;
  const isDivided = partitions > 1;
  const directory = new DirectorySpool(scratch);
  try {
    const write = async (writer: SectionWriter): Promise<void> => {
      if (isDivided) writer.needFeature(PARTITIONS_FEATURE);
      const parts: FilePart[] = [];
      await writer.stream(SECTION.records);
      let start = 0;
      for (let n = 0; n < partitions; n++) {
        const part = await writePart({ source, writer, directory, signal }, isDivided ? n : null, start);
        start += part.bytes;
        parts.push(part);
      }
      await writer.stream(SECTION.directory);
      for await (const rows of directory.read()) await writer.write(rows);
      await writer.stream(SECTION.head);
      const records = parts.reduce((sum, part) => sum + part.records, 0);
      const written: FileHead = { ...head, records, ...(isDivided && { parts }) };
      await writer.write(Buffer.from(JSON.stringify(written)));
    };
    return await writeSections(files, name, write, expectedBytes);
  } finally {
    await directory.close();
  }
}

interface WritingFile {
  readonly source: RecordSource;
  readonly writer: SectionWriter;
  readonly directory: DirectorySpool;
  readonly signal: CancelSignal;
}

/** @param start Where they begin in the section. */
async function writePart(
  { source, writer, directory, signal }: WritingFile,
  partition: number | null,
  start: number,
): Promise<FilePart> {
  let [records, bytes] = [0, 0];
  for await (const piece of source.pieces(partition, signal)) {
    throwIfAborted(signal);
    const { values, rows, end } = await runInTurns(encoded(piece, start + bytes));
    for (const value of values) await writer.write(value);
    await directory.add(Float64Array.from(rows));
    records += values.length;
    bytes = end - start;
  }
  return { records, bytes };
}

interface EncodedPiece {
  readonly values: readonly Uint8Array[];
  readonly rows: readonly number[];
  /** Of its last record, in the section. */
  readonly end: number;
}

function* encoded(piece: readonly StoredRecord[], start: number): Generator<void, EncodedPiece> {
  const [values, rows]: [Uint8Array[], number[]] = [[], []];
  const scratch = new ValueWriter();
  let end = start;
  for (const record of piece) {
    const value = yield* encodeValue(scratch, record);
    values.push(value);
    end += value.length;
    rows.push(record.offset, record.sequence, end);
    yield;
  }
  return { values, rows, end };
}
