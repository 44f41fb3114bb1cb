/** Markdown and text files of a folder, or a single file, as sections small enough for an embedding model. */
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";

export interface Section {
  /** Path from the folder, with `/`. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
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

/** @param place A folder, or a file of any extension. */
export async function readSections(place: string): Promise<Section[]> {
  const paths = (await stat(place)).isDirectory() ? await textFiles(place) : [place];
  const sections: Section[] = [];
  for (const path of paths.slice(0, MAX_FILES)) {
    const text = await readFile(path, "utf8");
    if (text.length > MAX_FILE_BYTES || text.includes("\0")) continue;
    const name = relative(place, path).split(sep).join("/") || basename(place);
    sections.push(...splitByHeading(name, text));
  }
  return sections;
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

async function textFiles(folder: string): Promise<string[]> {
  const found: string[] = [];
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => a.name.localeCompare(b.name))) {
    if (entry.name.startsWith(".") || SKIPPED_FOLDERS.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await textFiles(path)));
    else if (entry.isFile() && EXTENSIONS.test(entry.name)) found.push(path);
    if (found.length >= MAX_FILES) break;
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
