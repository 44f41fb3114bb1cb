/** Writes small files together, because a request for each of a hundred thousand would take hours. */
import type { Chunking, Collection, RecordChange } from "@sheaf/client";
import { isAboutRecords } from "../upsert-lines.ts";
import { ofFile, ofOtherVersions } from "./file-documents.ts";
import type { FolderState } from "./folder-state.ts";

export interface ReadyFile {
  readonly path: string;
  readonly sha256: string;
  /** How it is cut, as the state keeps it, and as the server is told. */
  readonly cut: string;
  readonly chunking: Chunking | undefined;
  readonly records: readonly RecordChange[];
  /** An earlier version of it is in the collection. */
  readonly isKnown: boolean;
}

export interface FileBatchOptions {
  readonly collection: Collection;
  readonly state: FolderState;
  /** Records that the state does not know may be in the collection. */
  readonly mayHaveOthers: boolean;
  readonly counts: { files: number; documents: number; refused: number };
  /** Told of each file that the server does not take. */
  readonly skip: (path: string, reason: string) => void;
}

const MOST_DOCUMENTS = 100;
/** UTF-16 units: the server embeds them within the time of a request, also where it has much else to do. */
const MOST_TEXT = 32 * 1024;

export class FileBatch {
  readonly #options: FileBatchOptions;
  #files: ReadyFile[] = [];
  #text = 0;

  constructor(options: FileBatchOptions) {
    this.#options = options;
  }

  /** Files of one batch are cut alike. One with many documents is written by itself. */
  async add(file: ReadyFile): Promise<void> {
    const text = file.records.reduce((sum, { document }) => sum + (document?.length ?? 0), 0);
    const isFull =
      this.#files.length >= MOST_DOCUMENTS || this.#text + text > MOST_TEXT || file.records.length > 1;
    if (isFull || this.#files[0]?.cut !== file.cut) await this.flush();
    this.#files.push(file);
    this.#text += text;
    if (file.records.length > 1) await this.flush();
  }

  async flush(): Promise<void> {
    const files = this.#files;
    [this.#files, this.#text] = [[], 0];
    await this.#write(files);
  }

  /** Where a batch is refused, its halves are tried, down to the files that are the reason. */
  async #write(files: readonly ReadyFile[]): Promise<void> {
    const [first] = files;
    if (first === undefined) return;
    const { collection, state, mayHaveOthers, counts } = this.#options;
    const records = files.flatMap((file) => file.records);
    try {
      await collection.upsert({ records, chunking: first.chunking, batchSize: MOST_DOCUMENTS });
    } catch (error) {
      if (!isAboutRecords(error)) throw error;
      if (files.length === 1) return this.#refused(first, error);
      const half = files.length >> 1;
      await this.#write(files.slice(0, half));
      return this.#write(files.slice(half));
    }
    const older = files.filter(({ isKnown }) => isKnown || mayHaveOthers).map(ofOtherVersions);
    if (older.length > 0) await collection.delete({ where: older.length === 1 ? older[0]! : { $or: older } });
    for (const { path, sha256, cut } of files) state.add({ path, sha256, cut });
    counts.files += files.length;
    counts.documents += records.length;
  }

  async #refused({ path, records, isKnown }: ReadyFile, error: Error): Promise<void> {
    const { mayHaveOthers, counts, skip } = this.#options;
    // Some of its parts may have been written; what is left of an older version is not the file any more, either.
    if (isKnown || mayHaveOthers || records.length > 1) await removeFile(this.#options, path);
    counts.refused += 1;
    skip(path, `was refused: ${error.message}`);
  }
}

/** With all its records. */
export async function removeFile(
  { state, collection }: Pick<FileBatchOptions, "state" | "collection">,
  path: string,
): Promise<void> {
  await collection.delete({ where: ofFile(path) });
  state.remove(path);
}
