/** Documents of a file, which the server cuts into chunks. */
import { posix } from "node:path";
import type { Chunking, RecordChange } from "@sheaf/client";
import type { FileKind, ParsedFile } from "@sheaf/importers";

/** Metadata of a document, and so of each of its chunks. */
const PATH_KEY = "path";
const VERSION_KEY = "version";
/** What a part of a file is called, where a file has several: each is a document of its own. */
const PARTS: Readonly<Partial<Record<FileKind, string>>> = {
  pdf: "page",
  csv: "row",
  json: "element",
  lines: "line",
};
const WITH_HEADINGS: ReadonlySet<FileKind> = new Set<FileKind>(["markdown", "html", "docx"]);
const MOST_TITLE = 500;
/** Hexadecimal digits of the hash that tell versions of a file apart. */
const VERSION_DIGITS = 16;

export interface ReadFileText {
  readonly path: string;
  readonly kind: FileKind;
  /** Of its bytes, hexadecimal. */
  readonly sha256: string;
  readonly parsed: ParsedFile;
}

/** Under the path of the file, or under `path:1`, `path:2`, … for pages, rows and elements; blank ones have none. */
export function fileDocuments({ path, kind, sha256, parsed }: ReadFileText): readonly RecordChange[] {
  const { title, parts } = parsed;
  const part = PARTS[kind];
  return parts.flatMap((document, index) => {
    if (document.trim() === "") return [];
    const number = index + 1;
    const metadata = {
      ...{ [PATH_KEY]: path, folder: posix.dirname(path), kind, [VERSION_KEY]: versionOf(sha256) },
      // What an older version of the file had is not kept.
      title: title === null ? null : title.slice(0, MOST_TITLE),
      ...(part === undefined ? {} : { [part]: number }),
    };
    return [{ id: part === undefined ? path : `${path}:${number}`, document, metadata }];
  });
}

/** All records of a file. */
export function ofFile(path: string): { readonly [PATH_KEY]: string } {
  return { [PATH_KEY]: path };
}

/** Records of other versions of the file. */
export function ofOtherVersions({ path, sha256 }: { readonly path: string; readonly sha256: string }): {
  readonly $and: readonly [ReturnType<typeof ofFile>, { readonly [VERSION_KEY]: { readonly $ne: string } }];
} {
  return { $and: [ofFile(path), { [VERSION_KEY]: { $ne: versionOf(sha256) } }] };
}

/** Where the collection says nothing: before headings where there are any, between sentences and lines elsewhere. */
export function chunkingOf(kind: FileKind): Chunking & { readonly by: "headings" | "sentences" } {
  return { by: WITH_HEADINGS.has(kind) ? "headings" : "sentences" };
}

function versionOf(sha256: string): string {
  return sha256.slice(0, VERSION_DIGITS);
}
