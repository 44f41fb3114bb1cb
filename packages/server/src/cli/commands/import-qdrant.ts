/** `sheaf import qdrant`: the collections of a Qdrant server into a running Sheaf. */
import { resolve } from "node:path";
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import { QDRANT_KEY_VARIABLE, readQdrantKey, readServerAddress } from "../../config.ts";
import type { Command } from "../command.ts";
import { databaseOptions } from "../database-options.ts";
import { ImportState } from "../import/copy/import-state.ts";
import { printReport } from "../import/copy/print-report.ts";
import { readSecret, requireSourceUrl } from "../import/copy/source-options.ts";
import { importQdrant } from "../import/qdrant/import-qdrant.ts";
import { QdrantSource } from "../import/qdrant/qdrant-source.ts";
import { progressLines } from "../progress-lines.ts";
import { withServer } from "../server-request.ts";

export const importFromQdrant: Command = {
  name: "import qdrant",
  summary: "Copy the collections of a Qdrant server to a running Sheaf.",
  options: [
    { flags: "--url <url>", doc: "Required. Address of the Qdrant server, such as http://127.0.0.1:6333." },
    {
      flags: "--api-key-file <file>",
      doc: `File with the key that the Qdrant server asks for. [${QDRANT_KEY_VARIABLE} has the key itself]`,
    },
    { flags: "--collection <name>", doc: "Only this collection. [default all]" },
    {
      flags: "--vector <name>",
      doc: "Only this dense vector, under the collection's own name. [default each in a collection of its own]",
    },
    { flags: "--document-key <key>", doc: "Key of the payload that holds the text. [default document]" },
    { flags: "--to <url>", doc: "URL of Sheaf. [SHEAF_URL, default http://127.0.0.1:8000]" },
    { flags: "--key <key>", doc: "API key of Sheaf. Prefer the environment variable. [SHEAF_KEY]" },
    ...databaseOptions("the collections at Sheaf"),
    { flags: "--state <file>", doc: "How far the import is. [default sheaf-import-qdrant.json]" },
    { flags: "--json", doc: "Print the report as JSON." },
  ],
  notes:
    "A collection with several named dense vectors becomes one collection for each, NAME.VECTOR. Sparse vectors are kept in the metadata, with an " +
    "index each. Members of objects in the payload become keys with dots; lists that are not of one kind become JSON texts. Each page of points is read back and " +
    "compared, and the numbers of points are compared at the end. An import that was interrupted goes on where it ended. The report is written beside " +
    "the state, and what was refused stands in sheaf-import-qdrant.refused.jsonl. Exit code 0: everything is the same on both sides; 1: it failed, or " +
    "something is not the same, which the report names.",
  async run(options) {
    const { tenant = DEFAULT_TENANT, database = DEFAULT_DATABASE, documentKey = "document" } = options;
    const url = requireSourceUrl(options["url"]);
    const source = new QdrantSource({
      url,
      apiKey: readSecret("--api-key-file", options["apiKeyFile"]) ?? readQdrantKey(),
    });
    const statePath = resolve(options["state"] ?? "sheaf-import-qdrant.json");
    const { collection, vector, to, key } = options;
    const state = await withServer({ url: to, key }, async (server) => {
      await server.heartbeat();
      const into = [readServerAddress({ url: to }).url, tenant, database, vector ?? "", documentKey].join(
        " ",
      );
      const opened = ImportState.open(statePath, url, into);
      const client = server.scoped({ tenant, database });
      const tell = progressLines();
      await importQdrant({
        ...{ source, client, tenant, database, state: opened, collection, vector, documentKey, tell },
      });
      return opened;
    });
    return printReport(state, options["json"] !== undefined);
  },
};
