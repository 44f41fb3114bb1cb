/**
 * Records of checkpoints in an object store. A file is known to the database before its first byte is sent, and read back
 * before a checkpoint names it, as files of indexes are. Unlike these it is not a cache: nothing else has what is in it.
 */
import { randomUUID } from "node:crypto";
import { SheafError } from "@sheaf/protocol";
import type { SegmentFiles } from "../storage/files/segment-files.ts";
import { type CheckpointFiles, type WrittenFile, recordFileName } from "../storage/log/checkpoint-files.ts";
import { type OpenRecordsOptions, RecordFile } from "../storage/log/record-file.ts";
import { type WriteOptions, writeRecordFile } from "../storage/log/write-record-file.ts";
import type { RecordStore } from "../storage/record-store.ts";
import type { PostgresManifests } from "../storage/postgres/postgres-manifests.ts";
import { verifyFile } from "./published-files.ts";

export interface CheckpointObjectsOptions {
  /** Not closed by this. */
  readonly objects: SegmentFiles;
  readonly manifests: Pick<PostgresManifests, "stage">;
}

export class CheckpointObjects implements CheckpointFiles {
  readonly #options: CheckpointObjectsOptions;

  constructor(options: CheckpointObjectsOptions) {
    this.#options = options;
  }

  async write(store: RecordStore, options: WriteOptions): Promise<WrittenFile> {
    const { signal } = options;
    const { objects } = this.#options;
    const name = recordFileName(randomUUID());
    await this.#stage(name, 0);
    const file = await writeRecordFile(objects, name, store, options);
    // Each of the two may take long, and a file that is staged stays for an hour.
    await this.#stage(name, 0);
    await verifyFile(objects, file, signal);
    const written = await this.open(name, { signal });
    await written.close();
    await this.#stage(name, written.size);
    return { name, bytes: written.size, records: written.records };
  }

  open(name: string, options?: OpenRecordsOptions): Promise<RecordFile> {
    return RecordFile.open(this.#options.objects, name, options);
  }

  async #stage(name: string, bytes: number): Promise<void> {
    if ((await this.#options.manifests.stage(name, bytes)) === "spent")
      throw new SheafError("unavailable", `writing the records took too long: ${name} was given up`);
  }
}
