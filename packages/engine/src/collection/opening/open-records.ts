/** Opens the records of a collection, wherever they are. */
import { type CollectionRef, SheafError, partitionsOf } from "@sheaf/protocol";
import type { CollectionEntry } from "../../catalog/catalog-codec.ts";
import { collectionOf, partitionIn } from "../../storage/folder/partition-name.ts";
import type { RecordsAnswer, RecordsQuestion } from "../../storage/log/asked/records-question.ts";
import type { LoggedRecordStore } from "../../storage/log/logged-record-store.ts";
import { lineageOf } from "../lineage.ts";
import type { CollectionLogs } from "../logged/collection-logs.ts";
import { type OpenedView, type ViewParts, openAskedView, openView } from "../logged/open-view.ts";

/** Asks a server that has a partition of a collection. Rejects with 503 where none answers in time. */
export type AskRecords = (
  ref: CollectionRef,
  partition: number,
  question: RecordsQuestion,
) => Promise<RecordsAnswer>;

export interface RecordPlaces extends Omit<ViewParts, "logs"> {
  /** Where other servers keep the same collections; else `null`. */
  readonly logs: CollectionLogs | null;
  /** Where collections in partitions are written without their records; else `null`. */
  readonly askRecords: AskRecords | null;
}

export interface OpenedRecords {
  /** On this disk; `null`: other servers have them. */
  readonly stored: OpenedView["stored"] | null;
  /** Where other servers write them, too, with all that they have written. */
  readonly logged?: LoggedRecordStore;
}

export async function openRecords(
  known: CollectionEntry,
  { logs, askRecords, open, ...places }: RecordPlaces,
): Promise<OpenedRecords> {
  if (logs === null) return { stored: open() };
  const { id: name, tenant, database, schema } = known;
  const [id, partition] = [collectionOf(name), partitionIn(name) ?? undefined];
  const partitions = partitionsOf(schema);
  const log = { id, epoch: lineageOf(known), tenant, partitions, partition };
  if (partition !== undefined || partitions === 1 || askRecords === null)
    return openView(log, name, { ...places, logs, open });
  const ref = { tenant, database, id };
  const ask = (...asked: [number, RecordsQuestion]): Promise<RecordsAnswer> => askRecords(ref, ...asked);
  return { stored: null, logged: await openAskedView(log, ask, { ...places, logs }) };
}

/** Of a collection whose records are not here. */
export function copyNothing(): Promise<never> {
  return Promise.reject(
    new SheafError("failed_precondition", "the records are in a database: make a backup of that"),
  );
}
