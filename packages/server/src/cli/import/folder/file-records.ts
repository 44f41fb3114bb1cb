/** Records of a file: its text, cut to what the model takes. */
import type { Metadata, RecordInput } from "@sheaf/client";
import type { ParsedFile, splitText } from "@sheaf/importers";

export interface FileRecordsOptions {
  readonly path: string;
  readonly kind: string;
  readonly split: typeof splitText;
  /** Of one record. */
  readonly tokens: number;
}

const BETWEEN_PARTS = "\n\n";

/**
 * `path#0`, `path#1`, … `start` and `end` count UTF-16 units of the file's text, whose parts stand two line ends apart. The title
 * stands in the metadata, not in the text, which stays as it is. `number` counts the records of the file.
 */
export function fileRecords(
  { title, parts }: ParsedFile,
  { path, kind, split, tokens }: FileRecordsOptions,
): readonly RecordInput[] {
  const records: RecordInput[] = [];
  let offset = 0;
  for (const [number, part] of parts.entries()) {
    for (const { start, end } of split(part, tokens)) {
      const metadata: Record<string, Metadata[string]> = {
        ...{ parent: path, number: records.length, start: offset + start, end: offset + end, kind },
        ...(parts.length > 1 ? { part: number + 1 } : {}),
        ...(title === null ? {} : { title: title.slice(0, MOST_TITLE) }),
      };
      records.push({ id: `${path}#${records.length}`, document: part.slice(start, end), metadata });
    }
    offset += part.length + BETWEEN_PARTS.length;
  }
  return records;
}

const MOST_TITLE = 500;
