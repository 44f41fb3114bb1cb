/**
 * The indexer: a process that writes segments for the engine host, one job at a time. It reads the records of a collection,
 * which the engine host may write meanwhile, and changes nothing but the file that a job names.
 */
import { type RpcServer, optimizeEarly, serveParent } from "@sheaf/process";
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import { FolderFiles } from "../storage/files/folder-files.ts";
import { type DiskReserve, type DiskSpace, createDiskSpace } from "../storage/folder/disk-space.ts";
import { LmdbRecordStore } from "../storage/lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "../storage/lmdb/own-environment.ts";
import { runSealJob } from "./run-seal-job.ts";
import type { SealJob, SealedFile } from "./seal-job.ts";

/** `process.argv[2]`, as JSON. */
export interface IndexerArguments {
  readonly dataFolder: string;
  readonly diskReserve?: DiskReserve | undefined;
}

optimizeEarly();
process.umask(0o077);
const options = JSON.parse(process.argv[2] ?? "{}") as IndexerArguments;
const disk = createDiskSpace(options.dataFolder, options);

const server: RpcServer = serveParent(
  async (method, args, { signal }) => {
    if (method !== "seal") throw new SheafError("internal", `the indexer has no method ${method}`);
    return seal(args[0] as SealJob, disk, signal);
  },
  { onUnexpected: (error) => process.stderr.write(`${String(error)}\n`) },
);
server.emit("ready", null);

async function seal(job: SealJob, space: DiskSpace, signal: CancelSignal): Promise<SealedFile> {
  const records = new LmdbRecordStore(
    ownEnvironment({ folder: job.records, name: job.name, disk: space, readOnly: true }),
  );
  const files = new FolderFiles(job.index, space);
  try {
    return await runSealJob(job, { records, files }, signal);
  } finally {
    await files.close();
    await records.close();
  }
}
