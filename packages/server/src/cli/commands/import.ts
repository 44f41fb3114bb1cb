/** `sheaf import`: a folder of files, JSON lines, or a table, into a collection of a running server; or a whole exported tenant. */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { EXPORT_MANIFEST } from "@sheaf/engine";
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import { SettingError } from "../../settings/setting-error.ts";
import type { Command } from "../command.ts";
import { databaseOptions } from "../database-options.ts";
import { FOLDER_OPTIONS, runFolderImport } from "../import/folder/folder-command.ts";
import { fileLines, importLines } from "../import/import-lines.ts";
import { openForLines } from "../import/open-for-lines.ts";
import { isTable, readTable } from "../import/table-lines.ts";
import { runTenantImport } from "../import/tenant/tenant-command.ts";
import { progressLines } from "../progress-lines.ts";
import { SERVER_OPTIONS, withServer } from "../server-request.ts";
import { several } from "../several.ts";

export const importRecords: Command = {
  name: "import",
  summary:
    "Write the files of a folder, or the records of JSON lines, Parquet or Arrow, to a collection of a running server; or an exported tenant.",
  operands: ["path"],
  options: [
    { flags: "--collection <name>", doc: "Name of the collection. Required, but for an exported tenant." },
    { flags: "--into <name>", doc: "The same." },
    {
      flags: "--create",
      doc: "Create the collection if it does not exist: for a folder with the bundled models, for JSON lines as FILE.collection.json says.",
    },
    { flags: "--watch", doc: "Folder: go on with what changes, comes and goes, until it is interrupted." },
    {
      flags: "--keep",
      doc: "Folder: leave the records of files that are gone, which are removed otherwise.",
    },
    {
      flags: "--chunking <by>",
      doc: "Folder: where files are cut: headings, sentences, tokens or none. [default as the collection says, or by kind of file]",
    },
    { flags: "--tokens <number>", doc: "Folder: tokens of a chunk at most. [default 256]" },
    {
      flags: "--overlap <number>",
      doc: "Folder: tokens that a chunk shares with the one before. [default 0]",
    },
    { flags: "--id-column <name>", doc: "Parquet, Arrow: column of the ids. [default id]" },
    { flags: "--document-column <name>", doc: "Parquet, Arrow: column of the texts. [default document]" },
    { flags: "--embedding-column <name>", doc: "Parquet, Arrow: column of the vectors. [default embedding]" },
    { flags: "--state <file>", doc: "Folder: which files are done. [default FOLDER.import.jsonl]" },
    ...databaseOptions("the collection"),
    ...SERVER_OPTIONS,
  ],
  notes:
    "Of a folder: Markdown, HTML, PDF, DOCX, CSV, JSON, source code and plain text, which the server cuts into records path#0, path#1, …; a file " +
    "that has not changed since the last run is left alone, and the records of one that is gone are removed. What is skipped stands in " +
    "FOLDER.import.skipped.jsonl, with the reason. It needs the package @sheaf/importers. " +
    'Of JSON lines: a line is an object with "id" and any of "embedding", "document", "uri" and "metadata", as `sheaf export` and ' +
    "`sheaf doctor --salvage` write them. Of a folder that `sheaf export --tenant` wrote: the tenant, " +
    "or one named with --tenant, with its databases and collections, none of which may be there yet. Lines that are refused go to FILE.refused.jsonl, with the reason. An import that was " +
    "interrupted goes on where it ended (FILE.import.json). Of Parquet, Arrow and Feather files a row is a record: columns that are none of the three " +
    "are metadata; a refused row is named as a line is. They need the package @sheaf/importers. " +
    "Exit code 0: all lines were written; 1: it failed, or lines were refused.",
  run: async (options, [file = ""]) => {
    const { into, create, tenant = DEFAULT_TENANT, database = DEFAULT_DATABASE } = options;
    const name = options["collection"] ?? into;
    const path = resolve(file);
    const isTenant = existsSync(join(path, EXPORT_MANIFEST));
    if (isTenant && name === undefined) return runTenantImport(path, options);
    if (name === undefined) throw new SettingError("--collection is required");
    if (into !== undefined && into !== name)
      throw new SettingError("--collection and --into mean the same; give one of them");
    if (!existsSync(path)) throw new SettingError(`${file} does not exist`);
    if (statSync(path).isDirectory())
      return withServer(options, (server) =>
        runFolderImport({ path, name, client: server.scoped({ tenant, database }), options }),
      );
    const ofFolders = FOLDER_OPTIONS.find((option) => options[option] !== undefined);
    if (ofFolders !== undefined)
      throw new SettingError(`--${ofFolders} is for folders, and ${file} is a file`);
    const tell = progressLines();
    const imported = await withServer(options, async (server) => {
      const client = server.scoped({ tenant, database });
      const collections = `/api/v2/tenants/${encodeURIComponent(tenant)}/databases/${encodeURIComponent(database)}/collections`;
      const target = { name, collections, path, create: create !== undefined };
      const { id } = await openForLines(client, target);
      const onProgress = (records: number): void => tell(() => `${records} records so far`);
      const table = isTable(path) ? await readTable(path, options) : null;
      const lines = table?.lines ?? ((from: number) => fileLines(path, from));
      const collection = `${collections}/${id}`;
      const key = table === null ? collection : `${collection} ${JSON.stringify(table.columns)}`;
      return importLines({ path, key, lines, client, collection, onProgress });
    });
    if (options["json"] !== undefined) console.log(JSON.stringify(imported, null, 2));
    else {
      const from = imported.resumedAt === 0 ? "" : ` (from line ${imported.resumedAt + 1} on)`;
      const refused = imported.refused === 0 ? "" : `; refused: ${imported.refused}, see ${imported.report}`;
      console.log(`${several(imported.written, "record")} written to ${name}${from}${refused}`);
    }
    return imported.refused === 0 ? 0 : 1;
  },
};
