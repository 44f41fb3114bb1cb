/** The seam between checkpoints and whatever keeps files of records for all servers: an object store. */
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import type { SegmentDamaged } from "../files/segment-damaged.ts";
import type { RecordSource } from "./changed/record-source.ts";
import type { OpenRecordsOptions, RecordFile } from "./record-file.ts";

export interface WrittenFile {
  readonly name: string;
  readonly bytes: number;
  /** So many are in it. */
  readonly records: number;
}

export interface CheckpointFiles {
  /**
   * Writes records down. Once this resolves the file was read back, and stays for an hour or longer: until then a checkpoint has
   * to name it.
   */
  write(source: RecordSource, signal: CancelSignal): Promise<WrittenFile>;
  /** Throws `SegmentMissing`, and `SegmentDamaged` for what is not as it was written. To be closed. */
  open(name: string, options?: OpenRecordsOptions): Promise<RecordFile>;
}

const SUFFIX = ".records";

export function recordFileName(uuid: string): string {
  return `${uuid}${SUFFIX}`;
}

/** Another server, which was told, can answer. */
export const OBJECTS_UNKNOWN =
  "the records of the collection are in an object store, which this server was not told of (--objects)";

/** The file that has the records of a collection, or is missing. */
export function damagedRecords(error: SegmentDamaged): SheafError {
  const words = "the records of the collection are damaged or missing in the object store";
  return new SheafError("collection_unavailable", `${words}: ${error.file}`, { cause: error });
}

/** What a checkpoint names is such a file, not a log. */
export function isRecordFile(place: string): boolean {
  return place.endsWith(SUFFIX);
}

/** `false` for a file, too, and where there is none. */
export function isLogOfRecords(checkpoint: unknown): checkpoint is string {
  return typeof checkpoint === "string" && !isRecordFile(checkpoint);
}

/** What the checkpoint of a collection is referred to from; its index is from the collection itself. */
export function checkpointOwner(collection: string): string {
  return `${collection}/records`;
}
