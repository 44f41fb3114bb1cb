/** What `sheaf import FOLDER` does and says. */
import { appendFileSync, realpathSync, rmSync } from "node:fs";
import { type Collection, type SheafClient, hybridSchema } from "@sheaf/client";
import { type JsonObject, SheafError, embeddingPlan, indexPlan, parseChunking } from "@sheaf/protocol";
import { SettingError } from "../../../settings/setting-error.ts";
import type { OptionTexts } from "../../command.ts";
import { progressLines } from "../../progress-lines.ts";
import { FolderState } from "./folder-state.ts";
import {
  type ChunkingWish,
  type FolderImport,
  type ImportedFolder,
  importFolder,
  watchFolder,
} from "./import-folder.ts";
import { existingCollection } from "../open-for-lines.ts";
import { loadImporters } from "./load-importers.ts";
import { several } from "../../several.ts";

/** Options of `sheaf import` that are about a folder of files alone. */
export const FOLDER_OPTIONS = ["watch", "keep", "chunking", "tokens", "overlap", "state"];

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
  const chunking = readChunking(options);
  const collection = await openCollection(client, name, options["create"] !== undefined);
  const root = realpathSync.native(path);
  const statePath = options["state"] ?? stateFor(root, collection.id);
  const report = `${statePath.replace(/\.jsonl$/u, "")}.skipped.jsonl`;
  const run: FolderImport = {
    ...{ importers, root, collection, chunking },
    state: new FolderState(statePath, collection.id),
    find() {
      rmSync(report, { force: true });
      return importers.walkFolder(root);
    },
    skip: (skipped, reason) => appendFileSync(report, `${JSON.stringify({ path: skipped, reason })}\n`),
    keepsGone: options["keep"] !== undefined,
    tell: progressLines(),
  };
  const say = async (counts: ImportedFolder): Promise<void> => {
    const total = { ...counts, records: await collection.count() };
    console.log(
      options["json"] === undefined ? sentence(total, name, report) : JSON.stringify({ ...total, report }),
    );
  };
  if (options["watch"] === undefined) {
    const counts = await importFolder(run);
    await say(counts);
    return counts.refused === 0 ? 0 : 1;
  }
  const end = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => end.abort());
  const onOutage = ({ message }: Error): void => console.error(`waiting for the server: ${message}`);
  await watchFolder(run, { signal: end.signal, onChange: say, onOutage });
  return 0;
}

/** One for each collection that the folder feeds: the first one has the plain name. */
function stateFor(root: string, collection: string): string {
  const first = `${root}.import.jsonl`;
  const owner = FolderState.collectionOf(first);
  return owner === null || owner === collection ? first : `${root}.${collection.slice(0, 8)}.import.jsonl`;
}

async function openCollection(client: SheafClient, name: string, create: boolean): Promise<Collection> {
  const collection = create
    ? await client.createCollection({ name, schema: hybridSchema(), getOrCreate: true })
    : await existingCollection(client, name);
  if (embeds(collection)) return collection;
  const message = `the server embeds nothing for the collection ${name}: make it with --create or hybridSchema()`;
  throw new SettingError(message);
}

function embeds({ info }: Collection): boolean {
  return embeddingPlan(indexPlan(info.schema as JsonObject).embeddingFunction) !== null;
}

/** The server checks it as well, but its refusal would come for each file. */
function readChunking({ chunking: by, tokens, overlap }: OptionTexts): ChunkingWish {
  const wish = {
    ...(by === undefined ? {} : { by }),
    ...(tokens === undefined ? {} : { size: Number(tokens) }),
    ...(overlap === undefined ? {} : { overlap: Number(overlap) }),
  };
  try {
    parseChunking({ by: "sentences", ...wish }, "chunking");
  } catch (cause) {
    if (!(cause instanceof SheafError)) throw cause;
    throw new SettingError(`--chunking, --tokens, --overlap: ${cause.message}`, { cause });
  }
  return wish as ChunkingWish;
}

function sentence(
  { files, records, unchanged, removed, skipped, refused }: ImportedFolder & { readonly records: number },
  name: string,
  report: string,
): string {
  const parts = [
    `${several(files, "file")} written to ${name}, which has ${several(records, "record")} now`,
    ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
    ...(removed > 0 ? [`${removed} removed`] : []),
    ...(refused > 0 ? [`${refused} refused by the server, see ${report}`] : []),
    ...(skipped > 0 ? [`${skipped} skipped, see ${report}`] : []),
  ];
  return parts.join("; ");
}
