/** Keeps a collection in step with the files of a folder: parses what is new or has changed, and writes its records. */
import { appendFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Collection, type Metadata, TooLargeError, type Where } from "@sheaf/client";
import type * as Importers from "@sheaf/importers";
import { isAboutRecords } from "../upsert-lines.ts";
import { fileRecords } from "./file-records.ts";
import type { FolderState } from "./folder-state.ts";

export interface FolderImport {
  readonly importers: typeof Importers;
  /** As `realpath` gives it. */
  readonly root: string;
  readonly collection: Collection;
  readonly state: FolderState;
  /** File that names what was skipped. */
  readonly report: string;
  /** Of a record, estimated. */
  readonly tokens: number;
  /** Whether records of files that are gone are removed. */
  readonly prune: boolean;
  readonly tell: (line: () => string) => void;
}

export interface ImportedFolder {
  /** Files and records that were written. */
  files: number;
  records: number;
  /** Files that are in the collection as they are. */
  unchanged: number;
  removed: number;
  skipped: number;
}

const BATCH_RECORDS = 100;
/** A text over the model's limit is cut again, down to these. */
const LEAST_TOKENS = 16;
const WATCH_EVERY_MS = 2_000;
/** Looking through a folder takes that share of the time at most. */
const WATCH_SHARE = 10;

/** Goes through the folder once. */
export async function importFolder(run: FolderImport): Promise<ImportedFolder> {
  const counts: ImportedFolder = { files: 0, records: 0, unchanged: 0, removed: 0, skipped: 0 };
  rmSync(run.report, { force: true });
  const parser = new run.importers.FileParser();
  const seen = new Set<string>();
  const skip = (path: string, reason: string): void => {
    counts.skipped += 1;
    appendFileSync(run.report, `${JSON.stringify({ path, reason })}\n`);
  };
  // Without a state, records of an earlier import may be there under higher numbers.
  const mayHaveOthers = (await run.collection.count()) > 0;
  try {
    for await (const found of run.importers.walkFolder(run.root)) {
      if ("reason" in found) {
        skip(found.path, found.reason);
        continue;
      }
      seen.add(found.path);
      const reason = await importFile(run, found, { parser, counts, mayHaveOthers });
      if (reason !== null) skip(found.path, reason);
      run.tell(() => `${counts.files} files with ${counts.records} records so far; ${found.path}`);
    }
  } finally {
    parser.close();
  }
  if (run.prune) await removeOthers(run, seen, counts);
  return counts;
}

/** Until the signal ends it: what changes, comes and goes. `onChange` is told of each pass that did something. */
export async function watchFolder(
  run: FolderImport,
  signal: AbortSignal,
  onChange: (counts: ImportedFolder) => void,
): Promise<void> {
  while (!signal.aborted) {
    const started = performance.now();
    const counts = await importFolder({ ...run, prune: true });
    if (counts.files > 0 || counts.removed > 0) onChange(counts);
    const pauseMs = Math.max(WATCH_EVERY_MS, (performance.now() - started) * WATCH_SHARE);
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }
}

interface FileRun {
  readonly parser: Importers.FileParser;
  readonly counts: ImportedFolder;
  readonly mayHaveOthers: boolean;
}

/** Why it was skipped; `null`: it is in the collection. */
async function importFile(
  run: FolderImport,
  { path, kind }: Importers.FoundFile,
  { parser, counts, mayHaveOthers }: FileRun,
): Promise<string | null> {
  const { importers, root, state, collection } = run;
  const read = await importers.readFound(root, path);
  if (typeof read === "string") return read;
  const before = state.get(path);
  if (before?.sha256 === read.sha256) {
    counts.unchanged += 1;
    return null;
  }
  const parsed = await parser.parse(kind, read.bytes);
  if (typeof parsed === "string") return parsed;
  let written: number;
  try {
    written = await writeFile(run, { path, kind, parsed });
  } catch (error) {
    if (!isAboutRecords(error)) throw error;
    return `was refused: ${error.message}`;
  }
  if (before !== undefined || mayHaveOthers) await collection.delete({ where: laterRecords(path, written) });
  state.add({ path, sha256: read.sha256, records: written });
  counts.files += 1;
  counts.records += written;
  return null;
}

/** Where a text is over the model's limit, the file is cut again into smaller ones. Gives the number of records. */
async function writeFile(
  { importers, collection, tokens }: FolderImport,
  file: { readonly path: string; readonly kind: string; readonly parsed: Importers.ParsedFile },
): Promise<number> {
  for (let size = tokens; ; size = Math.max(LEAST_TOKENS, size >> 1)) {
    const records = fileRecords(file.parsed, { ...file, split: importers.splitText, tokens: size });
    try {
      await collection.upsert({ records, batchSize: BATCH_RECORDS });
      return records.length;
    } catch (error) {
      if (!(error instanceof TooLargeError) || size === LEAST_TOKENS) throw error;
    }
  }
}

/** Of an older, longer state of the file. */
function laterRecords(path: string, records: number): Where<Metadata> {
  return { $and: [{ parent: path }, { number: { $gte: records } }] };
}

async function removeOthers(
  { state, collection }: FolderImport,
  seen: ReadonlySet<string>,
  counts: ImportedFolder,
): Promise<void> {
  for (const path of state.paths()) {
    if (seen.has(path)) continue;
    await collection.delete({ where: { parent: path } });
    state.remove(path);
    counts.removed += 1;
  }
}
