/** What the tour reads of a folder, or of a single file. */
import { lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type FileKind, type FoundFile, kindOf, walkFolder } from "@sheaf/importers";

export interface FoundFiles {
  /** As `realpath` gives it. */
  readonly root: string;
  readonly files: readonly FoundFile[];
  readonly leftOut: LeftOut;
}

/** What a folder has beside these. */
export interface LeftOut {
  /** Files beyond the first ones. */
  readonly tooMany: number;
  /** Files over 2 MiB. */
  readonly tooLarge: number;
  /** Files and folders, with the reason. */
  readonly unreadable: readonly string[];
}

/** Bounds of the tour, so that pointing it at a home folder ends. */
const MAX_FILES = 2_000;
const MAX_FILE_BYTES = 2 * 1024 * 1024;
/** Of this project, whose source code and licences of others are not asked about. */
export const DOCUMENTATION: ReadonlySet<FileKind> = new Set<FileKind>(["markdown"]);
const MADE = /(?:^|\/)(?:dist|coverage)\//u;

/**
 * @param place A folder, or a file. Throws where that itself cannot be read.
 * @param kinds Of files; all that the importer reads if omitted.
 */
export async function findFiles(place: string, kinds?: ReadonlySet<FileKind>): Promise<FoundFiles> {
  const found = await realpath(place);
  const isFolder = (await stat(found)).isDirectory();
  const root = isFolder ? found : dirname(found);
  const [files, unreadable]: [FoundFile[], string[]] = [[], []];
  let [tooMany, tooLarge] = [0, 0];
  for await (const path of isFolder ? walkFolder(root) : singleFile(found)) {
    if ("reason" in path) {
      if (path.isUnread) unreadable.push(`${join(root, path.path)} (${path.reason})`);
      continue;
    }
    if (MADE.test(path.path) || kinds?.has(path.kind) === false) continue;
    if (files.length === MAX_FILES) tooMany += 1;
    else if ((await lstat(join(root, path.path))).size > MAX_FILE_BYTES) tooLarge += 1;
    else files.push(path);
  }
  return { root, files, leftOut: { tooMany, tooLarge, unreadable } };
}

/** A line for each kind of what was left out. */
export function describeLeftOut({ tooMany, tooLarge, unreadable }: LeftOut): readonly string[] {
  const files = (count: number): string => `${count} file${count === 1 ? "" : "s"}`;
  return [
    ...(tooMany > 0 ? [`left out ${files(tooMany)} beyond the first ${MAX_FILES}`] : []),
    ...(tooLarge > 0 ? [`left out ${files(tooLarge)} over ${MAX_FILE_BYTES / 2 ** 20} MiB`] : []),
    ...unreadable.map((what) => `left out what cannot be read: ${what}`),
  ];
}

/** Of an unknown kind it may still be text. */
function* singleFile(path: string): Generator<FoundFile> {
  yield { path: basename(path), kind: kindOf(path) ?? "text" };
}
