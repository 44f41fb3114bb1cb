/** Writes the files that were found into a collection, as `sheaf import` does. */
import type { Collection } from "@sheaf/client";
import * as importers from "@sheaf/importers";
import { FolderState } from "../../packages/server/src/cli/import/folder/folder-state.ts";
import { importFolder } from "../../packages/server/src/cli/import/folder/import-folder.ts";
import type { FoundFiles } from "./found-files.ts";

/** What the importer says of each chunk, as far as the tour needs it. */
export interface FileMetadata {
  readonly path: string;
  readonly folder: string;
  readonly title?: string;
}

/**
 * Gives the files that were skipped, with the reasons.
 *
 * @param onProgress Told how many of the files are done, after each of them.
 */
export async function importFiles(
  collection: Collection<FileMetadata>,
  { root, files }: FoundFiles,
  onProgress: (done: number) => void = () => {},
): Promise<readonly string[]> {
  const skipped: string[] = [];
  let done = 0;
  await importFolder({
    ...{ importers, root, collection: collection as unknown as Collection, chunking: {}, keepsGone: true },
    state: new FolderState(null, collection.id),
    find: () => files,
    skip: (path, reason) => skipped.push(`${path} (${reason})`),
    tell: () => onProgress(++done),
  });
  return skipped;
}
