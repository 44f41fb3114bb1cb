/** Backups. */
import { type JsonSchema, Type } from "../json-schema.ts";
import { closed, count, maybe, orNull, ref, words } from "../schema-parts.ts";

const name = Type.String({ pattern: "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$" });
const time = Type.String({ format: "date-time" });

export const BACKUP_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  BackupBody: closed({
    name,
    incremental: maybe(name, "Name of the backup to add to: only what has changed since is copied."),
    tenant: maybe(ref("TenantName"), "The only tenant to be copied."),
    keys: maybe(
      Type.Boolean(),
      "With API keys, as digests. Default true: without them every program needs a new key after a restore.",
    ),
  }),
  Backup: Type.Object({
    name: Type.String(),
    state: words(["running", "complete", "failed"]),
    started_at: time,
    finished_at: orNull(time),
    tenant: orNull(Type.String(), "The only one in it; `null`: all are."),
    incremental: orNull(Type.String(), "The backup that it adds to."),
    keys: Type.Boolean({ description: "Whether API keys are in it, as digests." }),
    collections: count("Those that are copied."),
    collections_total: orNull(count("Of how many; `null` while that is not known, and where it failed.")),
    bytes: count("That it takes on the disk."),
    damaged: count("Collections that could not be copied."),
    without_index: count(
      "Collections that were copied without their index, for a file of it cannot be read.",
    ),
    error: orNull(Type.String(), "Why it failed."),
  }),
};
