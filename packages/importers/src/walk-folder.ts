/**
 * The files below a folder that may be read, and the paths that are left out, each with a reason. Links are not followed, and
 * what looks like a secret is not opened.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, readdir, realpath } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { type FileKind, kindOf } from "./file-kind.ts";
import { PARSER_LIMITS } from "./parser-limits.ts";
import { holdsPrivateKey, isNamedAsSecret } from "./secrets.ts";

export interface FoundFile {
  /** Below the root, with `/` between names. */
  readonly path: string;
  readonly kind: FileKind;
}

export interface SkippedPath {
  readonly path: string;
  readonly reason: string;
  /** A folder that could not be looked into: what lies below it may still be there. */
  readonly isUnread?: true;
}

const FOLDERS: ReadonlySet<string> = new Set(["node_modules", "__pycache__"]);

/** States and reports of imports, and what an export says of a collection. */
const OWN = /\.(?:import|refused|skipped)\.jsonl$|\.import\.json$|\.jsonl\.collection\.json$/u;

/** In order of their names. @param root A folder, as `realpath` gives it. */
export async function* walkFolder(root: string, below = ""): AsyncGenerator<FoundFile | SkippedPath> {
  const entries = await readdir(join(root, below), { withFileTypes: true }).catch((error: Error) => error);
  if (entries instanceof Error) {
    yield { path: below, reason: `cannot be read: ${entries.message}`, isUnread: true };
    return;
  }
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    const reason = entry.isSymbolicLink() ? await whereLinkLeads(root, path) : reasonFor(entry.name);
    if (reason !== null) yield { path, reason };
    else if (entry.isDirectory()) yield* walkFolder(root, path);
    else if (!entry.isFile()) yield { path, reason: "is no regular file" };
    else {
      const kind = kindOf(entry.name);
      yield kind === null ? { path, reason: "no parser reads this kind of file" } : { path, kind };
    }
  }
}

export interface ReadFile {
  readonly bytes: Buffer;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** The bytes of a file that was found, or why they are not read: it may have been replaced by a link meanwhile. */
export async function readFound(root: string, path: string): Promise<ReadFile | string> {
  const absolute = join(root, path);
  try {
    if ((await realpath(dirname(absolute))) !== dirname(absolute)) return "is a link";
    const file = await open(absolute, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) return "is no regular file";
      if (stats.size > PARSER_LIMITS.fileBytes)
        return `has ${stats.size} bytes, the limit is ${PARSER_LIMITS.fileBytes}`;
      const buffer = Buffer.alloc(stats.size);
      const { bytesRead } = await file.read(buffer, 0, stats.size, 0);
      const bytes = buffer.subarray(0, bytesRead);
      if (holdsPrivateKey(bytes)) return "holds a private key";
      return { bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
    } finally {
      await file.close();
    }
  } catch (error) {
    return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function reasonFor(name: string): string | null {
  if (name.startsWith(".")) return "begins with a dot";
  if (FOLDERS.has(name)) return `is ${name}`;
  if (OWN.test(name)) return "is written by sheaf import or export";
  return isNamedAsSecret(name) ? "looks like a key or a secret" : null;
}

async function whereLinkLeads(root: string, path: string): Promise<string> {
  const target = await realpath(join(root, path)).catch(() => null);
  if (target === null) return "is a link that leads nowhere";
  const way = relative(root, target);
  const leaves = way === ".." || way.startsWith(`..${sep}`) || way.startsWith(sep);
  return leaves ? "is a link that leaves the folder" : "is a link; its target is read under its own name";
}
