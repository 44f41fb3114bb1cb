/** A backup as commands are given it: a folder, or `s3://bucket/prefix/NAME`. */
import { resolve } from "node:path";
import { BucketBackups, type ObjectStoreSettings, makeSpool } from "@sheaf/engine";
import { SheafError, backupName } from "@sheaf/protocol";
import { readSettings } from "../config.ts";
import { bucketAt, isBucket } from "../settings/object-settings.ts";
import { SettingError } from "../settings/setting-error.ts";
import { byteCount } from "./byte-count.ts";
import { progressLines } from "./progress-lines.ts";

export interface BackupInBucket {
  readonly bucket: ObjectStoreSettings;
  readonly name: string;
}

/** `null`: it is a folder. */
export function inBucket(operand: string): BackupInBucket | null {
  if (!isBucket(operand)) return null;
  const [, above, name] = /^(s3:\/\/.+)\/([^/]*)$/u.exec(operand) ?? [];
  if (above === undefined || name === undefined)
    throw new SettingError(`${operand}: must be the URL of a backup, such as s3://bucket/prefix/NAME`);
  return { bucket: bucketAt(above, readSettings({})), name: backupName(name, operand) };
}

/** What was said of a copy, of the backup itself. */
export type Naming = (text: string) => string;

/** Gives `work` the folder of a backup; of one in a bucket a copy, with all that it adds to, for as long as that takes. */
export async function withBackup<T>(
  operand: string,
  work: (folder: string, naming: Naming) => Promise<T>,
): Promise<T> {
  const place = inBucket(operand);
  if (place === null) return work(resolve(operand), (text) => text);
  const spool = await makeSpool();
  const above = operand.slice(0, -place.name.length);
  const naming: Naming = (text) => text.replaceAll(`${spool.path}/`, above);
  try {
    const tell = progressLines();
    const folder = await new BucketBackups(place.bucket).fetch(place.name, spool.path, {
      onProgress: ({ bytes, totalBytes }) =>
        tell(() => `${operand}: ${byteCount(bytes)} of ${byteCount(totalBytes)} fetched`),
    });
    return await work(folder, naming);
  } catch (error) {
    if (!(error instanceof SheafError) || error.code !== "failed_precondition") throw error;
    throw new SheafError(error.code, naming(error.message), { cause: error });
  } finally {
    await spool.remove();
  }
}
