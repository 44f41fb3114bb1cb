/** Opens the view on this machine of a collection that several servers write, or of one partition of it. */
import { rm } from "node:fs/promises";
import type { CancelSignal } from "@sheaf/protocol";
import { type DataFolder, collectionName } from "../../storage/folder/data-folder.ts";
import type { DiskSpace } from "../../storage/folder/disk-space.ts";
import { LmdbRecordStore } from "../../storage/lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "../../storage/lmdb/own-environment.ts";
import { AskedView } from "../../storage/log/asked/asked-view.ts";
import type { AskPartition } from "../../storage/log/asked/records-question.ts";
import { StoredRecords } from "../../storage/log/changed/record-source.ts";
import type { RecordsCopy } from "../../storage/log/log-checkpoints.ts";
import type { LoggedRecordStore } from "../../storage/log/logged-record-store.ts";
import type { ChangedOptions, CollectionLogs, LogName } from "./collection-logs.ts";

export interface ViewParts {
  readonly logs: CollectionLogs;
  readonly folder: DataFolder;
  readonly disk: DiskSpace;
  /** Opens what is on the disk. */
  readonly open: () => LmdbRecordStore;
  readonly onProblem: (error: unknown) => void;
}

/** Of a collection in partitions, for its writes, on a server that has none of its records. */
export async function openAskedView(
  log: LogName,
  ask: AskPartition,
  { logs, folder, disk, onProblem }: Omit<ViewParts, "open">,
): Promise<LoggedRecordStore> {
  const { id, tenant, partitions = 1 } = log;
  const known = logs.known;
  // What a program of before has left there, or an engine that had nobody to ask.
  const remove = (): Promise<void> => folder.discardCollection(id);
  await remove();
  return logs.open(log, {
    open: () => AskedView.open({ id, tenant, partitions, ask, known }),
    copy: (signal) => copyOfLog(log, { logs, folder, disk }, signal),
    remove,
    onProblem,
  });
}

export interface OpenedView {
  readonly stored: LmdbRecordStore;
  /** On `stored`, with all that other servers have written. */
  readonly logged: LoggedRecordStore;
}

/** @param name Of its folder. */
export async function openView(
  log: LogName,
  name: string,
  { logs, folder, disk, open, onProblem }: ViewParts,
): Promise<OpenedView> {
  let stored: LmdbRecordStore | null = null;
  const logged = await logs.open(log, {
    open: () => (stored = open()),
    copy: () => copyView(name, stored!, { folder, disk, partitions: log.partitions }),
    remove: () => folder.discardCollection(name),
    onProblem,
  });
  return { stored: stored!, logged };
}

/** Of a collection whose records are not here: for a checkpoint that no other server writes. */
async function copyOfLog(
  log: LogName,
  places: Pick<ViewParts, "logs" | "folder" | "disk">,
  signal: CancelSignal,
): Promise<RecordsCopy> {
  const leave = await places.logs.turns.enter(log.tenant, signal);
  try {
    const copy = await copyFromLog(log, places, { signal });
    return { ...copy, remove: () => copy.remove().finally(leave) };
  } catch (error) {
    leave();
    throw error;
  }
}

/** On this disk is what the log has changed since the checkpoint before. */
export async function copyFromLog(
  log: LogName,
  { logs, folder: data, disk }: Pick<ViewParts, "logs" | "folder" | "disk">,
  options: Omit<ChangedOptions, "entries" | "scratch">,
): Promise<RecordsCopy> {
  const folder = data.newTrash();
  const removeFolder = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const scratch = { folder, disk };
    const entries = ownEnvironment({ ...scratch, name: collectionName(log.id) });
    const source = await logs.changed(log, { ...options, scratch, entries });
    const { batch, count } = source;
    return { source, batch, count, remove: () => source.close().then(removeFolder) };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

interface CopiedParts extends Pick<ViewParts, "folder" | "disk"> {
  readonly partitions: number | undefined;
}

async function copyView(
  name: string,
  stored: LmdbRecordStore,
  { folder: data, disk, partitions }: CopiedParts,
): Promise<RecordsCopy> {
  const folder = data.newTrash();
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await stored.copyTo(folder);
    const view = new LmdbRecordStore(ownEnvironment({ folder, name: collectionName(name), disk }));
    const [scratch, expectedBytes] = [{ folder, disk }, view.usedBytes];
    const source = new StoredRecords(view, partitions, { scratch, expectedBytes });
    return { source, batch: view.batch, remove: () => view.close().then(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}
