/** `sheaf export`: the records of a collection in a backup, as JSON lines. No server is asked. */
import { resolve } from "node:path";
import { exportCollection } from "@sheaf/engine";
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import { SettingError } from "../../settings/setting-error.ts";
import type { Command } from "../command.ts";
import { databaseOptions } from "../database-options.ts";
import { progressLines } from "../progress-lines.ts";

export const exportRecords: Command = {
  name: "export",
  summary: "Write the records of a collection in a backup as JSON lines.",
  operands: ["backup"],
  options: [
    { flags: "--collection <collection>", doc: "Required. Name or id of the collection." },
    { flags: "--to <file>", doc: "Required. New file." },
    ...databaseOptions("a collection given by name"),
    { flags: "--json", doc: "Print the result as JSON." },
  ],
  notes:
    'A line is {"id", "embedding", "document", "uri", "metadata"}, in order of insertion; `sheaf import` reads it. ' +
    "FILE.collection.json beside it has the schema and the metadata of the collection, for `sheaf import --create`. An " +
    "export that was interrupted goes on where it ended.",
  async run(options, [backup = ""]) {
    const { collection, to, tenant = DEFAULT_TENANT, database = DEFAULT_DATABASE } = options;
    if (collection === undefined || to === undefined)
      throw new SettingError("--collection and --to are required");
    const tell = progressLines();
    const onProgress = (records: number): void => tell(() => `${records} records so far`);
    const exported = await exportCollection({
      ...{ backup: resolve(backup), collection, tenant, database, to: resolve(to), onProgress },
    });
    if (options["json"] !== undefined) console.log(JSON.stringify({ ...exported, to }, null, 2));
    else
      console.log(
        `${exported.records} records of ${exported.id} written to ${to}, its schema to ${to}.collection.json`,
      );
    return 0;
  },
};
