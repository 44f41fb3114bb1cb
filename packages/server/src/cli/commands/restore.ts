/** `sheaf backup verify` and `sheaf restore`: whether a backup is whole, and a data folder out of it. No server is asked. */
import { resolve } from "node:path";
import { type VerifiedBackup, restoreBackup, verifyBackup } from "@sheaf/engine";
import { readSettings, SETTINGS } from "../../config.ts";
import { byteCount } from "../byte-count.ts";
import type { Command } from "../command.ts";
import { progressLines } from "../progress-lines.ts";

const FOLDER = SETTINGS.dataFolder;
const DONE = 0;
const FAILED = 1;

export const backupVerify: Command = {
  name: "backup verify",
  summary: "Compare every file of a backup, and of those that it adds to, with its checksum.",
  operands: ["folder"],
  options: [{ flags: "--json", doc: "Print the result as JSON." }],
  notes: "Exit code 0: it can be restored; 1: it is damaged, or a collection was damaged when it was made.",
  async run(options, [folder = ""]) {
    const tell = progressLines();
    const verified = await verifyBackup(resolve(folder), ({ bytes, totalBytes }) =>
      tell(() => `${byteCount(bytes)} of ${byteCount(totalBytes)} read`),
    );
    if (options["json"] !== undefined) console.log(JSON.stringify(verified, null, 2));
    else describe(folder, verified);
    return verified.problems.length + verified.missing.length === 0 ? DONE : FAILED;
  },
};

export const restore: Command = {
  name: "restore",
  summary: "Make a data folder out of a backup. Nothing is written before every checksum was found right.",
  operands: ["backup"],
  options: [
    {
      flags: "--data <folder>",
      doc: `Data folder to be made: it does not exist, or is empty. [${FOLDER.env}, default ${FOLDER.default}]`,
    },
    { flags: "--tenant <tenant>", doc: "Restore this tenant only." },
    { flags: "--json", doc: "Print the result as JSON." },
  ],
  notes:
    "Collections keep their ids and indexes. API keys are restored where the backup was made with --keys; the root key is made " +
    "anew at the first start. It can be interrupted and run again. Exit code 0: restored; 1: it failed, or a collection was " +
    "damaged when the backup was made, and is not in it.",
  async run(options, [backup = ""]) {
    const { dataFolder } = readSettings({ dataFolder: options["data"] });
    const tell = progressLines();
    const { verified, collections } = await restoreBackup({
      backup: resolve(backup),
      dataFolder: resolve(dataFolder),
      tenant: options["tenant"] ?? null,
      onVerify: ({ bytes, totalBytes }) =>
        tell(() => `checking: ${byteCount(bytes)} of ${byteCount(totalBytes)}`),
      onRestore: (done) => tell(() => `restoring: ${done} collections`),
    });
    const { missing } = verified;
    if (options["json"] !== undefined)
      console.log(JSON.stringify({ dataFolder, collections, missing, backup: verified.header }, null, 2));
    else {
      const at = new Date(verified.header.started).toISOString();
      console.log(`${dataFolder}: restored ${collections} collections as of ${at}`);
      for (const one of missing) console.log(`NOT restored: ${one}`);
    }
    return missing.length === 0 ? DONE : FAILED;
  },
};

function describe(
  folder: string,
  { header, backups, files, bytes, problems, missing }: VerifiedBackup,
): void {
  for (const problem of problems) console.log(`damaged: ${problem}`);
  for (const one of missing) console.log(`not in it, because it was damaged: ${one}`);
  const below = backups === 1 ? "" : ` (with the ${backups - 1} that it adds to)`;
  const made = `made ${new Date(header.started).toISOString()}, ${header.collections} collections`;
  const state = problems.length === 0 ? "can be restored" : "DAMAGED";
  console.log(`${folder}: ${state}; ${made}; ${files} files, ${byteCount(bytes)} read${below}`);
}
