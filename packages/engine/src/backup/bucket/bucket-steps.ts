/** The steps of making a backup that ask a bucket. They run in the backup process. */
import type { ObjectStoreSettings } from "../../storage/objects/object-store.ts";
import { BucketBackups } from "./bucket-backups.ts";

export interface BucketStep {
  readonly bucket: ObjectStoreSettings;
  readonly name: string;
  /** Where the backup lies, or is to lie, in a folder of its name. */
  readonly folder: string;
}

/** With those of all that it adds to. */
export async function fetchHeaders({ bucket, name, folder }: BucketStep): Promise<void> {
  await new BucketBackups(bucket).fetchHeaders(name, folder);
}

/** Throws `already_exists` where there is one of that name. */
export async function beginBackup({
  bucket,
  name,
  base,
}: Omit<BucketStep, "folder"> & {
  /** Name of the backup to add to; `null`: it is whole. */
  readonly base: string | null;
}): Promise<void> {
  await new BucketBackups(bucket).begin(name, base);
}

export async function cancelBackup({ bucket, name }: Omit<BucketStep, "folder">): Promise<void> {
  await new BucketBackups(bucket).cancel(name);
}

export async function sendBackup({ bucket, name, folder }: BucketStep): Promise<void> {
  await new BucketBackups(bucket).send(name, folder);
}
