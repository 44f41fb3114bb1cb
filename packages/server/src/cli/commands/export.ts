/** `sheaf export`: the records of a collection in a backup as JSON lines, or a whole tenant. No server is asked. */
import { resolve } from "node:path";
import { exportCollection, exportTenant } from "@sheaf/engine";
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import { SettingError } from "../../settings/setting-error.ts";
import { withBackup } from "../backup-operand.ts";
import type { Command, OptionTexts } from "../command.ts";
import { databaseOptions } from "../database-options.ts";
import { progressLines } from "../progress-lines.ts";
import { several } from "../several.ts";

export const exportRecords: Command = {
  name: "export",
  summary: "Write a collection in a backup as JSON lines, or a tenant as a folder of them.",
  operands: ["backup"],
  options: [
    {
      flags: "--collection <collection>",
      doc: "Name or id of the collection. Without it: everything of --tenant.",
    },
    { flags: "--to <path>", doc: "Required. New file; for a tenant, new folder." },
    ...databaseOptions("a collection given by name"),
    { flags: "--json", doc: "Print the result as JSON." },
  ],
  notes:
    'A line is {"id", "embedding", "document", "uri", "metadata"}, in order of insertion; `sheaf import` reads it. ' +
    "FILE.collection.json beside it has the schema and the metadata of the collection, for `sheaf import --create`. An " +
    "export that was interrupted goes on where it ended.",
  async run(options, [operand = ""]) {
    const { collection, to, tenant = DEFAULT_TENANT, database = DEFAULT_DATABASE } = options;
    if (to === undefined) throw new SettingError("--to is required");
    if (collection === undefined)
      return withBackup(operand, (backup) => runTenantExport(backup, to, options));
    const tell = progressLines();
    const onProgress = (records: number): void => tell(() => `${records} records so far`);
    const exported = await withBackup(operand, (backup) =>
      exportCollection({ backup, collection, tenant, database, to: resolve(to), onProgress }),
    );
    if (options["json"] !== undefined) console.log(JSON.stringify({ ...exported, to }, null, 2));
    else
      console.log(
        `${several(exported.records, "record")} of ${nameAndId(collection, exported.id)} written to ${to}, its schema to ${to}.collection.json`,
      );
    return 0;
  },
};

function nameAndId(collection: string, id: string): string {
  return collection === id ? id : `${collection} (${id})`;
}

/** Gives the exit code. */
async function runTenantExport(backup: string, to: string, options: OptionTexts): Promise<number> {
  const { tenant } = options;
  if (tenant === undefined) throw new SettingError("--collection or --tenant is required");
  if (options["database"] !== undefined) throw new SettingError("--database is for one collection");
  const tell = progressLines();
  const exported = await exportTenant({
    ...{ backup, tenant, to: resolve(to) },
    onProgress: ({ collections, records }) =>
      tell(() => `${collections} collections with ${records} records so far`),
  });
  const { databases, collections, records, missing } = exported;
  if (options["json"] !== undefined) console.log(JSON.stringify({ ...exported, to }, null, 2));
  else {
    const what = `${several(databases, "database")} and ${several(collections, "collection")} with ${several(records, "record")}`;
    console.log(`${what} of ${tenant} written to ${to}`);
    for (const one of missing) console.log(`NOT exported: ${one}`);
  }
  return missing.length === 0 ? 0 : 1;
}
