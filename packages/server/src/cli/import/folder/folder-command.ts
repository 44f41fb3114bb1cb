/** What `sheaf import FOLDER` does and says. */
import { realpathSync } from "node:fs";
import { type Collection, type SheafClient, hybridSchema } from "@sheaf/client";
import { SettingError } from "../../../settings/setting-error.ts";
import type { OptionTexts } from "../../command.ts";
import { progressLines } from "../../progress-lines.ts";
import { FolderState } from "./folder-state.ts";
import { type FolderImport, type ImportedFolder, importFolder, watchFolder } from "./import-folder.ts";
import { loadImporters } from "./load-importers.ts";

/** Cut to these, by estimate, a text fits the 256 tokens of the bundled model nearly always; otherwise it is cut again. */
const TOKENS = 180;
const LEAST_TOKENS = 16;

export interface FolderCommand {
  readonly path: string;
  readonly name: string;
  /** In the tenant and database of the collection. */
  readonly client: SheafClient;
  readonly options: OptionTexts;
}

/** Gives the exit code. */
export async function runFolderImport({ path, name, client, options }: FolderCommand): Promise<number> {
  const importers = await loadImporters();
  const tokens = readTokens(options["tokens"]);
  const collection = await openCollection(client, name, options["create"] !== undefined);
  const root = realpathSync.native(path);
  const statePath = options["state"] ?? `${root}.import.jsonl`;
  const run: FolderImport = {
    ...{ importers, root, collection, tokens },
    state: new FolderState(statePath, collection.id),
    report: `${statePath.replace(/\.jsonl$/u, "")}.skipped.jsonl`,
    prune: options["prune"] !== undefined,
    tell: progressLines(),
  };
  const say = (counts: ImportedFolder): void =>
    console.log(
      options["json"] === undefined
        ? sentence(counts, name, run.report)
        : JSON.stringify({ ...counts, report: run.report }),
    );
  if (options["watch"] === undefined) {
    say(await importFolder(run));
    return 0;
  }
  const end = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => end.abort());
  await watchFolder(run, end.signal, say);
  return 0;
}

async function openCollection(client: SheafClient, name: string, create: boolean): Promise<Collection> {
  const collection = create
    ? await client.createCollection({ name, schema: hybridSchema(), getOrCreate: true })
    : await client.getCollection({ name });
  if (embeds(collection)) return collection;
  const message = `the server embeds nothing for the collection ${name}: make it with --create or hybridSchema()`;
  throw new SettingError(message);
}

function embeds({ info }: Collection): boolean {
  return JSON.stringify(info.schema.keys?.["#embedding"] ?? null).includes('"name":"sheaf"');
}

function readTokens(text: string | undefined): number {
  const tokens = Number(text ?? TOKENS);
  if (!Number.isInteger(tokens) || tokens < LEAST_TOKENS)
    throw new SettingError(`--tokens: must be an integer of at least ${LEAST_TOKENS}`);
  return tokens;
}

function sentence(
  { files, records, unchanged, removed, skipped }: ImportedFolder,
  name: string,
  report: string,
): string {
  const parts = [
    `${files} files with ${records} records written to ${name}`,
    ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
    ...(removed > 0 ? [`${removed} removed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped, see ${report}`] : []),
  ];
  return parts.join("; ");
}
