/** `sheaf backup remove`: a backup that is not needed any more. No server is asked. */
import { resolve } from "node:path";
import { BucketBackups, removeBackup } from "@sheaf/engine";
import { inBucket } from "../backup-operand.ts";
import type { Command } from "../command.ts";

export const backupRemove: Command = {
  name: "backup remove",
  summary: "Remove a backup, unless another one adds to it.",
  operands: ["backup"],
  options: [],
  notes:
    "A folder, or s3://bucket/prefix/NAME. Backups that add to it are looked for beside it, in the same folder or bucket. What a backup that was not finished has left is removed, too. Exit code 0: it is gone; 1: others need it, and are named.",
  async run(_options, [backup = ""]) {
    const place = inBucket(backup);
    const removed = await (place === null
      ? removeBackup(resolve(backup))
      : new BucketBackups(place.bucket).remove(place.name));
    console.log(`${backup}: removed${removed === "complete" ? "" : "; it was not finished"}`);
    return 0;
  },
};
