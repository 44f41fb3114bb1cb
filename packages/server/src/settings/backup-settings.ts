/** The settings of backups. Part of the table in `config.ts`. */
import type { Setting } from "../config.ts";
import { parseFolder } from "./parse-folder.ts";

export interface BackupSettings {
  /** `null`: the server makes none. */
  readonly backupFolder: string | null;
}

export const BACKUP_SETTINGS: { readonly [name in keyof BackupSettings]: Setting<BackupSettings[name]> } = {
  backupFolder: {
    env: "SHEAF_BACKUP_FOLDER",
    flag: { name: "backup-folder", operand: "folder" },
    default: null,
    doc: "Folder that `sheaf backup` and POST /api/v2/backups make backups in, each in a folder of its own. Created if missing. Without it the server makes no backups. Put it on another disk than the data folder.",
    parse: parseFolder,
  },
};
