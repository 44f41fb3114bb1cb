/** Where a server keeps its backups, each under a name: in a folder or in a bucket. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type BackupHeader,
  type BackupRequest,
  BucketBackups,
  type ObjectStoreSettings,
  isBackup,
  liesIn,
  readChain,
  readHeader,
} from "@sheaf/engine";
import { SheafError } from "@sheaf/protocol";

type Place = Pick<BackupRequest, "target" | "base" | "bucket">;

export interface BackupShelf {
  /** Of all that may be backups. */
  names(): Promise<readonly string[]>;
  isBackup(name: string): Promise<boolean>;
  /** Reads each header once. */
  reader(): BackupReader;
  /** Where a new one goes. Throws `failed_precondition` for a name that leads elsewhere. */
  placeFor(name: string, base: string | null): Place;
}

export interface BackupReader {
  /** Throws as `readHeader`. */
  header(name: string): Promise<BackupHeader>;
  /** Throws where one that it adds to is not there. */
  requireChain(name: string): Promise<unknown>;
}

export function folderShelf(folder: string): BackupShelf {
  return {
    async names() {
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    },
    isBackup: (name) => Promise.resolve(isBackup(join(folder, name))),
    reader() {
      const read = readOnce(readHeader);
      return {
        header: (name) => read(join(folder, name)),
        requireChain: (name) => readChain(join(folder, name), read),
      };
    },
    placeFor(target, base) {
      for (const one of [target, base])
        if (one !== null && !liesIn(join(folder, one), folder))
          throw new SheafError(
            "failed_precondition",
            `Backup [${one}] is a link that leads out of the folder for backups`,
          );
      return { target: join(folder, target), base: base === null ? null : join(folder, base) };
    },
  };
}

export function bucketShelf(bucket: ObjectStoreSettings): BackupShelf {
  const backups = new BucketBackups(bucket);
  return {
    names: () => backups.names(),
    isBackup: (name) => backups.isBackup(name),
    reader() {
      const header = readOnce((name) => backups.header(name));
      return { header, requireChain: (name) => backups.chain(name, header) };
    },
    placeFor: (target, base) => ({ target, base, bucket }),
  };
}

/** Many add to the same one. */
function readOnce(read: typeof readHeader): typeof readHeader {
  const known = new Map<string, Promise<BackupHeader>>();
  return (place) => {
    const header = known.get(place) ?? read(place);
    known.set(place, header);
    return header;
  };
}
