/** `sheaf import chroma`: everything that a Chroma server or a folder of one holds, into a running Sheaf. */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { DEFAULT_TENANT } from "@sheaf/protocol";
import { readServerAddress } from "../../config.ts";
import { SettingError } from "../../settings/setting-error.ts";
import type { Command, OptionTexts } from "../command.ts";
import { ChromaSource } from "../import/chroma/chroma-source.ts";
import { importChroma } from "../import/chroma/import-chroma.ts";
import { ImportState } from "../import/copy/import-state.ts";
import { printReport } from "../import/copy/print-report.ts";
import { readSecret, requireSourceUrl } from "../import/copy/source-options.ts";
import { ServedFolder } from "../import/chroma/served-folder.ts";
import { progressLines } from "../progress-lines.ts";
import { withServer } from "../server-request.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const SIGNALLED = 130;

export const importFromChroma: Command = {
  name: "import chroma",
  summary: "Copy tenants, databases and collections of a Chroma server or folder to a running Sheaf.",
  options: [
    { flags: "--url <url>", doc: "Address of the Chroma server." },
    {
      flags: "--path <folder>",
      doc: "Instead: folder of a local Chroma. A copy of it is served by Chroma's own program.",
    },
    { flags: "--chroma <program>", doc: "That program. [default chroma, found on PATH]" },
    {
      flags: "--work <folder>",
      doc: "Where the copy is made and removed. [default the system's temporary folder]",
    },
    { flags: "--token-file <file>", doc: "File with the token that the Chroma server asks for." },
    {
      flags: "--tenant <names>",
      doc: `Tenants, separated by commas. [default all that the server lists, or ${DEFAULT_TENANT}]`,
    },
    { flags: "--database <name>", doc: "Only this database." },
    { flags: "--collection <name>", doc: "Only this collection." },
    { flags: "--to <url>", doc: "URL of Sheaf. [SHEAF_URL, default http://127.0.0.1:8000]" },
    { flags: "--key <key>", doc: "API key of Sheaf. Prefer the environment variable. [SHEAF_KEY]" },
    { flags: "--to-tenant <name>", doc: "Another name for the one tenant." },
    { flags: "--to-database <name>", doc: "Another name for the one database." },
    { flags: "--state <file>", doc: "How far the import is. [default sheaf-import-chroma.json]" },
    { flags: "--json", doc: "Print the report as JSON." },
  ],
  notes:
    "Each page of records is read back and compared with the source, and the numbers of records are compared at the end. An import that was " +
    "interrupted goes on where it ended. The report is written beside the state, and what Sheaf refused stands in " +
    "sheaf-import-chroma.refused.jsonl. Chroma does not list its tenants: name those beside the default one. " +
    "Exit code 0: everything is the same on both sides; 1: it failed, or something is not the same, which the report names.",
  async run(options) {
    const { url, path, toTenant, toDatabase, database } = options;
    if ((url === undefined) === (path === undefined))
      throw new SettingError("name the Chroma server with --url, or its folder with --path");
    if (toDatabase !== undefined && database === undefined)
      throw new SettingError("--to-database needs --database");
    if (toTenant !== undefined && (options["tenant"] ?? "").includes(","))
      throw new SettingError("--to-tenant is for one tenant");
    if (path === undefined) return importFrom(requireSourceUrl(url), url, options);
    const served = await ServedFolder.start({
      folder: realpathSync.native(resolve(path)),
      program: options["chroma"] ?? "chroma",
      copies: options["work"],
    });
    const end = (): void => process.exit(SIGNALLED);
    for (const signal of SIGNALS) process.once(signal, end);
    try {
      return await importFrom(served.url, resolve(path), options);
    } finally {
      await served.dispose();
      for (const signal of SIGNALS) process.off(signal, end);
    }
  },
};

/** @param name Of the source, the same at the next run. */
async function importFrom(url: string, name: string | undefined, options: OptionTexts): Promise<number> {
  const source = new ChromaSource({ url, token: readSecret("--token-file", options["tokenFile"]) });
  const tenants = options["tenant"]?.split(",") ?? (await source.tenants()) ?? defaultTenant();
  const statePath = resolve(options["state"] ?? "sheaf-import-chroma.json");
  const state = await withServer({ url: options["to"], key: options["key"] }, async (client) => {
    await client.heartbeat();
    const { database, collection, toTenant, toDatabase } = options;
    const into = [
      readServerAddress({ url: options["to"] }).url,
      ...(toTenant === undefined ? [] : [`tenant ${toTenant}`]),
      ...(toDatabase === undefined ? [] : [`database ${toDatabase}`]),
    ].join(", ");
    const opened = ImportState.open(statePath, name ?? "", into);
    const tell = progressLines();
    await importChroma({
      ...{ source, client, state: opened, tenants, database, collection, toTenant, toDatabase, tell },
    });
    return opened;
  });
  return printReport(state, options["json"] !== undefined);
}

/** Others cannot be seen, which whoever has them should know. */
function defaultTenant(): readonly string[] {
  console.error(
    `The source does not list its tenants: ${DEFAULT_TENANT} is copied; name others with --tenant.`,
  );
  return [DEFAULT_TENANT];
}
