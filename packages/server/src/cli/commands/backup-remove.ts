/** `sheaf backup remove`: a backup that is not needed any more. No server is asked. */
import { resolve } from "node:path";
import { removeBackup } from "@sheaf/engine";
import type { Command } from "../command.ts";

export const backupRemove: Command = {
  name: "backup remove",
  summary: "Remove a backup, unless another one adds to it.",
  operands: ["folder"],
  options: [],
  notes:
    "Backups that add to it are looked for beside it, in the same folder. Exit code 0: it is gone; 1: others need it, and are named.",
  async run(_options, [folder = ""]) {
    await removeBackup(resolve(folder));
    console.log(`${folder}: removed`);
    return 0;
  },
};
