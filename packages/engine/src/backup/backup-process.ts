/**
 * A process of its own that reads and writes what backups are made of, one step after the other. A server goes on beside it,
 * and what ends it, a damaged page say, ends nothing else.
 */
import { type RpcServer, serveParent } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import { beginBackup, cancelBackup, fetchHeaders, sendBackup } from "./bucket/bucket-steps.ts";
import { BackupSteps } from "./backup-steps.ts";
import { RestoreSteps } from "./restore-steps.ts";

process.umask(0o077);
const backup = new BackupSteps();
const restore = new RestoreSteps();

const METHODS = {
  copyCatalog: backup.copyCatalog.bind(backup),
  listCollections: backup.listCollections.bind(backup),
  copyCollections: backup.copyCollections.bind(backup),
  finishBackup: backup.finish.bind(backup),
  ...{ beginBackup, cancelBackup, fetchHeaders, sendBackup },
  restoreCollections: restore.collections.bind(restore),
  replayArchive: restore.replay.bind(restore),
  restoreCatalog: restore.catalog.bind(restore),
} as const;

/** What the parent may ask, and what it hears. */
export type BackupMethods = typeof METHODS;

const server: RpcServer = serveParent(
  async (method, args) => {
    const run = METHODS[method as keyof BackupMethods] as ((argument: unknown) => unknown) | undefined;
    if (run === undefined) throw new SheafError("internal", `the backup process has no method ${method}`);
    return run(args[0]);
  },
  { onUnexpected: (error) => process.stderr.write(`${String(error)}\n`) },
);
server.emit("ready", null);
