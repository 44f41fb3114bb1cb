/** The settings of backups. Part of the table in `config.ts`. */
import type { Setting } from "../config.ts";
import { isBucket, parseBucket } from "./object-settings.ts";
import { parseCount } from "./parse-count.ts";
import { parseDays } from "./parse-days.ts";
import { parseFolder } from "./parse-folder.ts";

export interface BackupSettings {
  /** Or the URL of a bucket. `null`: the server makes none. */
  readonly backupFolder: string | null;
  /** `null`: there is none. */
  readonly archive: string | null;
  readonly archiveKeepMs: number;
  readonly archiveFileBytes: number;
}

export const BACKUP_SETTINGS: { readonly [name in keyof BackupSettings]: Setting<BackupSettings[name]> } = {
  backupFolder: {
    env: "SHEAF_BACKUP_FOLDER",
    flag: { name: "backup-folder", operand: "folder-or-url" },
    default: null,
    doc: "Folder that `sheaf backup` and POST /api/v2/backups make backups in, each in a folder of its own. Created if missing. Without it the server makes no backups. Put it on another disk than the data folder. Or a bucket of an object store (S3 API), as s3://bucket/prefix; its keys, region and endpoint come from the variables of AWS's own programs.",
    parse: parsePlace,
  },
  archive: {
    env: "SHEAF_ARCHIVE",
    flag: { name: "archive", operand: "folder" },
    default: null,
    doc: "Folder of an archive: everything that is written goes there too before it is acknowledged, so that `sheaf restore --archive` can follow a backup to any later moment. Created if missing. Put it on another disk than the data folder; each write waits for both.",
    parse: parseFolder,
  },
  archiveKeepMs: {
    env: "SHEAF_ARCHIVE_KEEP",
    flag: { name: "archive-keep", operand: "days" },
    default: "7",
    doc: "How long the archive is kept, in days; fractions are allowed. With backups at least that often, every moment of that time can be restored: what the newest backup from before needs is kept longer, at most twice as long.",
    parse: parseDays,
  },
  archiveFileBytes: {
    env: "SHEAF_ARCHIVE_FILE",
    flag: null,
    default: String(64 * 2 ** 20),
    doc: "Bytes after which the archive begins its next file, as it does every hour. Small ones are for tests.",
    parse: (text) => parseCount(text, 1),
  },
};

function parsePlace(text: string): string {
  if (!isBucket(text)) return parseFolder(text);
  parseBucket(text);
  return text;
}
