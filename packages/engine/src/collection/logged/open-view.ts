/** Opens the view on this machine of a collection that several servers write, or of one partition of it. */
import { rm } from "node:fs/promises";
import { type DataFolder, collectionName } from "../../storage/folder/data-folder.ts";
import type { DiskSpace } from "../../storage/folder/disk-space.ts";
import { LmdbRecordStore } from "../../storage/lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "../../storage/lmdb/own-environment.ts";
import type { ViewCopy } from "../../storage/log/log-checkpoints.ts";
import type { LoggedRecordStore } from "../../storage/log/logged-record-store.ts";
import type { CollectionLogs, LogName } from "./collection-logs.ts";

export interface ViewParts {
  readonly logs: CollectionLogs;
  readonly folder: DataFolder;
  readonly disk: DiskSpace;
  /** Opens what is on the disk. */
  readonly open: () => LmdbRecordStore;
  readonly onProblem: (error: unknown) => void;
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
    copy: () => copyView(name, stored!, { folder, disk }),
    remove: () => folder.discardCollection(name),
    onProblem,
  });
  return { stored: stored!, logged };
}

async function copyView(
  name: string,
  stored: LmdbRecordStore,
  { folder: data, disk }: Pick<ViewParts, "folder" | "disk">,
): Promise<ViewCopy> {
  const folder = data.newTrash();
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await stored.copyTo(folder);
    const view = new LmdbRecordStore(ownEnvironment({ folder, name: collectionName(name), disk }));
    return { view, remove: () => view.close().then(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}
