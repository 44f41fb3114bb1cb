/** Markdown and text files of a folder, or a single file, as sections small enough for an embedding model. */
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";

export interface Section {
  /** Path from the folder, with `/`. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

/** What a folder has beside its sections. */
export interface LeftOut {
  /** Files beyond the first ones. */
  readonly tooMany: number;
  /** Files over 2 MiB. */
  readonly tooLarge: number;
  /** Files and folders, with the reason. */
  readonly unreadable: readonly string[];
}

export interface FoundSections {
  readonly sections: readonly Section[];
  readonly leftOut: LeftOut;
}

const EXTENSIONS = /\.(?:md|markdown|mdx|txt|text|rst)$/iu;
const SKIPPED_FOLDERS = new Set(["node_modules", "dist", "coverage"]);
/** Bounds of the tour, so that pointing it at a home folder ends. */
const MAX_FILES = 2_000;
const MAX_FILE_BYTES = 2 * 1024 * 1024;
/**
 * First guess of a piece's length: about 230 WordPiece tokens of English prose. The server counts exactly and
 * refuses what is too long; `halve` then cuts further.
 */
const PIECE_CHARACTERS = 900;

/** @param place A folder, or a file of any extension. Throws where that itself cannot be read. */
export async function readSections(place: string): Promise<FoundSections> {
  const isFolder = (await stat(place)).isDirectory();
  const unreadable: string[] = [];
  const paths = isFolder ? await textFiles(place, unreadable) : [place];
  const sections: Section[] = [];
  let tooLarge = 0;
  for (const path of paths.slice(0, MAX_FILES)) {
    try {
      if ((await stat(path)).size > MAX_FILE_BYTES) {
        tooLarge++;
        continue;
      }
      const text = await readFile(path, "utf8");
      if (text.includes("\0")) continue;
      const name = relative(place, path).split(sep).join("/") || basename(place);
      sections.push(...splitByHeading(name, text));
    } catch (error) {
      if (!isFolder) throw error;
      unreadable.push(describe(path, error));
    }
  }
  return { sections, leftOut: { tooMany: Math.max(0, paths.length - MAX_FILES), tooLarge, unreadable } };
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

/** The two halves of a section, cut at a paragraph, else a line, else a word. */
export function halve(section: Section): [Section, Section] {
  const { text } = section;
  const middle = Math.floor(text.length / 2);
  for (const separator of ["\n\n", "\n", " "]) {
    const cut = nearest(text, separator, middle);
    if (cut > 0) {
      return [
        { ...section, text: text.slice(0, cut).trim() },
        { ...section, text: text.slice(cut).trim() },
      ];
    }
  }
  return [
    { ...section, text: text.slice(0, middle) },
    { ...section, text: text.slice(middle) },
  ];
}

function describe(path: string, error: unknown): string {
  const isSystem = error instanceof Error && "code" in error;
  return `${path} (${isSystem ? String(error.code) : String(error)})`;
}

/** All of them, so that those beyond the bound can be counted. Subfolders that cannot be read are noted. */
async function textFiles(folder: string, unreadable: string[]): Promise<string[]> {
  const found: string[] = [];
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => a.name.localeCompare(b.name))) {
    if (entry.name.startsWith(".") || SKIPPED_FOLDERS.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isFile() && EXTENSIONS.test(entry.name)) found.push(path);
    if (!entry.isDirectory()) continue;
    try {
      for (const file of await textFiles(path, unreadable)) found.push(file);
    } catch (error) {
      unreadable.push(describe(path, error));
    }
  }
  return found;
}

function splitByHeading(path: string, text: string): Section[] {
  const sections: Section[] = [];
  let title = path;
  let lines: string[] = [];
  let fenced = false;
  const flush = (): void => {
    const body = lines.join("\n").trim();
    for (const piece of pieces(body)) sections.push({ path, title, text: piece });
    lines = [];
  };
  for (const line of text.split(/\r?\n/u)) {
    if (/^\s*(?:```|~~~)/u.test(line)) fenced = !fenced;
    const heading = fenced ? null : /^#{1,6}\s+(.+?)\s*#*$/u.exec(line);
    if (heading === null) {
      lines.push(line);
    } else {
      flush();
      title = heading[1] ?? path;
    }
  }
  flush();
  return sections;
}

/** Paragraphs packed together up to the first guess. */
function pieces(body: string): string[] {
  if (body.length <= PIECE_CHARACTERS) return body === "" ? [] : [body];
  const packed: string[] = [];
  let current = "";
  for (const paragraph of body.split(/\n{2,}/u)) {
    const joined = current === "" ? paragraph : `${current}\n\n${paragraph}`;
    if (joined.length > PIECE_CHARACTERS && current !== "") {
      packed.push(current);
      current = paragraph;
    } else {
      current = joined;
    }
  }
  if (current.trim() !== "") packed.push(current);
  return packed;
}

function nearest(text: string, separator: string, middle: number): number {
  const before = text.lastIndexOf(separator, middle);
  const after = text.indexOf(separator, middle);
  if (after < 0) return before;
  return before > 0 && middle - before <= after - middle ? before : after;
}
