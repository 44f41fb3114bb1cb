/** Stores what was read from files. The server embeds it, and cuts documents that are longer than its model takes. */
import type { Chunking, WriteProgress } from "@sheaf/client";
import type { Asked } from "../session/ask-collection.ts";
import type { NewRecord, ReadFile } from "./read-files.ts";

const BATCH = 100;
/** A document may be cut into thousands of chunks, which are embedded before the request ends. */
const LONG_BATCH = 4;

/** @throws What the client throws; what was stored until then stays, and is stored again by another attempt. */
export async function writeFiles(
  { collection }: Asked,
  files: readonly ReadFile[],
  signal: AbortSignal,
  onProgress: (progress: WriteProgress) => void,
): Promise<void> {
  const cuts = (collection.info.schema.chunking?.by ?? "none") !== "none";
  const total = files.reduce((sum, { records }) => sum + records.length, 0);
  let stored = 0;
  for (const { chunking, records } of groupsOf(files)) {
    await collection.upsert({
      records: records.map((record) => ({ ...record, metadata: record.metadata as never })),
      batchSize: chunking === null ? BATCH : LONG_BATCH,
      // A collection that cuts goes on as it says.
      ...(chunking !== null && !cuts && { chunking }),
      signal,
      onProgress: ({ written }) => onProgress({ written: stored + written, total }),
    });
    stored += records.length;
  }
}

interface Group {
  readonly chunking: Chunking | null;
  readonly records: NewRecord[];
}

/** Files that are cut alike go together. */
function groupsOf(files: readonly ReadFile[]): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const { chunking, records } of files) {
    const kind = chunking?.by ?? "";
    const group = groups.get(kind) ?? { chunking, records: [] };
    group.records.push(...records);
    groups.set(kind, group);
  }
  return [...groups.values()].filter(({ records }) => records.length > 0);
}
