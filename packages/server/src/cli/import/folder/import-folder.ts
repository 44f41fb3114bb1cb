/** Keeps a collection in step with the files of a folder: parses what is new or has changed, and writes its text. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  BusyError,
  type Chunking,
  type Collection,
  RequestTimeoutError,
  ServerError,
  UnreachableError,
} from "@sheaf/client";
import type * as Importers from "@sheaf/importers";
import { FileBatch, removeFile } from "./file-batch.ts";
import { chunkingOf, fileDocuments } from "./file-documents.ts";
import type { FolderState } from "./folder-state.ts";

export interface FolderImport {
  readonly importers: typeof Importers;
  /** As `realpath` gives it. */
  readonly root: string;
  readonly collection: Collection;
  readonly state: FolderState;
  /** Told of each path that was skipped. */
  readonly skip: (path: string, reason: string) => void;
  /** How files are cut, whatever the collection and their kind say; `by` may be left to these. */
  readonly chunking: ChunkingWish;
  /** Whether records of files that are gone stay. */
  readonly keepsGone: boolean;
  /** Told after each file. */
  readonly tell: (line: () => string) => void;
  /** What is to be looked at, such as all that `walkFolder` finds. */
  readonly find: () =>
    | AsyncIterable<Importers.FoundFile | Importers.SkippedPath>
    | Iterable<Importers.FoundFile | Importers.SkippedPath>;
}

export interface ChunkingWish {
  readonly by?: Chunking["by"];
  readonly size?: number;
  readonly overlap?: number;
}

export interface ImportedFolder {
  /** Files that were written, and the documents in them. */
  files: number;
  documents: number;
  /** Files that are in the collection as they are. */
  unchanged: number;
  removed: number;
  skipped: number;
  /** Files whose text the server did not take. */
  refused: number;
}

const WATCH_EVERY_MS = 2_000;
/** Looking through a folder takes that share of the time at most. */
const WATCH_SHARE = 10;
/** While a server that is watched for does not answer. */
const LONGEST_PAUSE_MS = 10_000;

/** Goes through the folder once. */
export async function importFolder(run: FolderImport): Promise<ImportedFolder> {
  const counts: ImportedFolder = { files: 0, documents: 0, unchanged: 0, removed: 0, skipped: 0, refused: 0 };
  const parser = new run.importers.FileParser();
  const seen = new Set<string>();
  const unread: string[] = [];
  const skip = (path: string, reason: string): void => {
    counts.skipped += 1;
    run.skip(path, reason);
  };
  // Without a state, records of an earlier import may be there.
  const mayHaveOthers = (await run.collection.count()) > 0;
  const batch = new FileBatch({ ...run, counts, mayHaveOthers });
  try {
    for await (const found of run.find()) {
      if ("reason" in found) {
        skip(found.path, found.reason);
        if (found.isUnread) unread.push(found.path === "" ? "" : `${found.path}/`);
        continue;
      }
      seen.add(found.path);
      const reason = await importFile(run, found, { parser, counts, batch });
      if (reason !== null) skip(found.path, reason);
      run.tell(() => `${counts.files} files so far; ${found.path}`);
    }
    await batch.flush();
  } finally {
    parser.close();
  }
  // An empty folder is more likely one that is not mounted.
  if (!run.keepsGone && seen.size > 0)
    await removeGone(
      run,
      (path) => seen.has(path) || unread.some((folder) => path.startsWith(folder)),
      counts,
    );
  return counts;
}

export interface FolderWatch {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Told of each pass that did something. */
  readonly onChange: (counts: ImportedFolder) => Promise<void>;
  /** Told at the first of several passes that the server did not answer. */
  readonly onOutage: (error: Error) => void;
}

/** What changes, comes and goes. A server that is away is waited for; what it refuses for good is thrown. */
export async function watchFolder(
  run: FolderImport,
  { signal, onChange, onOutage }: FolderWatch,
): Promise<void> {
  let outages = 0;
  while (!signal.aborted) {
    const started = performance.now();
    let pauseMs = WATCH_EVERY_MS;
    try {
      const counts = await importFolder(run);
      outages = 0;
      if (counts.files > 0 || counts.removed > 0 || counts.refused > 0) await onChange(counts);
      // A pass that wrote says nothing of how long looking takes.
      else pauseMs = Math.max(WATCH_EVERY_MS, (performance.now() - started) * WATCH_SHARE);
    } catch (error) {
      if (!isOutage(error)) throw error;
      if (outages === 0) onOutage(error);
      pauseMs = Math.min(LONGEST_PAUSE_MS, WATCH_EVERY_MS * 2 ** outages++);
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }
}

/** The server is not there, starts, or has too much to do. */
function isOutage(error: unknown): error is Error {
  return (
    error instanceof UnreachableError ||
    error instanceof RequestTimeoutError ||
    error instanceof BusyError ||
    error instanceof ServerError
  );
}

interface FileRun {
  readonly parser: Importers.FileParser;
  readonly counts: ImportedFolder;
  readonly batch: FileBatch;
}

/** Why it was skipped; `null`: it is in the collection, will be with its batch, or was refused. */
async function importFile(
  run: FolderImport,
  { path, kind }: Importers.FoundFile,
  { parser, counts, batch }: FileRun,
): Promise<string | null> {
  const { importers, root, state } = run;
  const read = await importers.readFound(root, path);
  if (typeof read === "string") return read;
  const { bytes, sha256 } = read;
  const chunking = chunkingFor(run, kind);
  const cut = JSON.stringify(chunking ?? null);
  const before = state.get(path);
  if (before?.sha256 === sha256 && before.cut === cut) {
    counts.unchanged += 1;
    return null;
  }
  const parsed = await parser.parse(kind, bytes);
  if (typeof parsed === "string") return parsed;
  const records = fileDocuments({ path, kind, sha256, parsed });
  await batch.add({ path, sha256, cut, chunking, records, isKnown: before !== undefined });
  return null;
}

/** `undefined`: as the collection says. */
function chunkingFor({ collection, chunking }: FolderImport, kind: Importers.FileKind): Chunking | undefined {
  const own = collection.info.schema.chunking;
  const cuts = own !== undefined && own.by !== "none";
  if (cuts && Object.keys(chunking).length === 0) return undefined;
  if (chunking.by === "none") return { by: "none" };
  return { ...(cuts ? own : chunkingOf(kind)), ...chunking };
}

async function removeGone(
  run: FolderImport,
  isThere: (path: string) => boolean,
  counts: ImportedFolder,
): Promise<void> {
  for (const path of run.state.paths()) {
    if (isThere(path)) continue;
    await removeFile(run, path);
    counts.removed += 1;
  }
}
