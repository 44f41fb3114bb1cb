/** The body that asks for a backup. Unknown members are refused: a misspelt `tenant` would copy everything. */
import { invalid } from "../errors.ts";
import { BodyReader } from "./body-reader.ts";
import { parseTenantName } from "./name.ts";

export interface BackupBody {
  /** Of the folder it goes to, below the server's folder for backups. */
  readonly name: string;
  /** Name of the backup to add to; `null`: everything is copied. */
  readonly base: string | null;
  /** The only tenant to be copied; `null`: all. */
  readonly tenant: string | null;
  /** With the digests of API keys, unless the body says otherwise. */
  readonly keys: boolean;
}

const MEMBERS = ["name", "incremental", "tenant", "keys"];
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;

/** @throws SheafError 400 for a value out of bounds, 422 for a wrong type, a missing member or an unknown one. */
export function parseBackupBody(body: unknown): BackupBody {
  const reader = new BodyReader(body, "");
  reader.refuseUnknown(MEMBERS);
  const base = reader.string("incremental");
  const name = backupName(reader.requiredString("name"), "name");
  if (name === base) throw invalid("incremental", "must be another backup");
  return Object.freeze({
    name,
    base: base === null ? null : backupName(base, "incremental"),
    tenant: reader.has("tenant") ? parseTenantName(reader.get("tenant"), "tenant") : null,
    keys: reader.boolean("keys") ?? true,
  });
}

/** It becomes a name in a folder, so nothing that a path could be made of is let through. */
export function backupName(name: string, path: string): string {
  if (!NAME.test(name))
    throw invalid(
      path,
      "must be 1 to 128 letters, digits, dots, hyphens and underscores, and not begin with a dot",
    );
  return name;
}
