/** A view of a log in memory, and files of records beside it. */
import { randomUUID } from "node:crypto";
import type { MemoryFiles } from "../../files/memory-files.ts";
import { MemoryRecordStore } from "../../memory-record-store.ts";
import { type CheckpointFiles, recordFileName } from "../checkpoint-files.ts";
import type { LogView } from "../log-view.ts";
import { RecordFile } from "../record-file.ts";
import { writeRecordFile } from "../write-record-file.ts";

export class MemoryView extends MemoryRecordStore implements LogView {
  batch: string | null = null;

  async follow(...[plan, batch]: Parameters<LogView["follow"]>): Promise<void> {
    await this.apply(plan);
    this.batch = batch;
  }

  async forgetUpTo(): Promise<void> {}

  storedBytes(): number {
    return 1;
  }
}

export function recordFilesIn(files: MemoryFiles): CheckpointFiles {
  return {
    write: async (source, signal) => {
      const name = recordFileName(randomUUID());
      await writeRecordFile(files, name, source, signal);
      const file = await RecordFile.open(files, name);
      await file.close();
      return { name, bytes: 1, records: file.records };
    },
    open: (name, options) => RecordFile.open(files, name, options),
  };
}
