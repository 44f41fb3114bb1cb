/**
 * Records of checkpoints in an object store. A file is known to the database before its first byte is sent, and read back
 * before a checkpoint names it, as files of indexes are. Unlike these it is not a cache: nothing else has what is in it.
 */
import { randomUUID } from "node:crypto";
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import type { SegmentFiles } from "../storage/files/segment-files.ts";
import type { RecordSource } from "../storage/log/changed/record-source.ts";
import { type CheckpointFiles, type WrittenFile, recordFileName } from "../storage/log/checkpoint-files.ts";
import { type OpenRecordsOptions, RecordFile } from "../storage/log/record-file.ts";
import { writeRecordFile } from "../storage/log/write-record-file.ts";
import type { PostgresManifests } from "../storage/postgres/postgres-manifests.ts";
import { verifyFile } from "./published-files.ts";

export interface CheckpointObjectsOptions {
  /** Not closed by this. */
  readonly objects: SegmentFiles;
  readonly manifests: Pick<PostgresManifests, "stage">;
}

/** A file that is staged stays for an hour; writing and reading back a large one takes longer. */
const STAGE_AGAIN_MS = 300_000;

export class CheckpointObjects implements CheckpointFiles {
  readonly #options: CheckpointObjectsOptions;

  constructor(options: CheckpointObjectsOptions) {
    this.#options = options;
  }

  async write(source: RecordSource, signal: CancelSignal): Promise<WrittenFile> {
    const { objects } = this.#options;
    const name = recordFileName(randomUUID());
    await this.#stage(name, 0);
    const again = setInterval(() => void this.#stage(name, 0).catch(() => {}), STAGE_AGAIN_MS).unref();
    try {
      const file = await writeRecordFile(objects, name, source, signal);
      await verifyFile(objects, file, signal);
    } finally {
      clearInterval(again);
    }
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
