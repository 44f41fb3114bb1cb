/** Compares the files of a model with the hashes they came with. */
import { readdir, readFile, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import { errorCode } from "../graph/model-file.ts";
import { fileHash } from "./file-hash.ts";

export interface VerifiedFile {
  /** Relative to the model's folder. */
  readonly file: string;
  /** `null`: nothing says what it should be. */
  readonly expected: string | null;
  readonly actual: string | null;
  readonly status: "ok" | "damaged" | "missing" | "unknown";
}

const BLOB_HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/u;
const SUMS = "SHA256SUMS";

/** A file of the cache is named by its hash; another folder may list the hashes in `SHA256SUMS`. */
export async function verifyFiles(folder: string, signal?: AbortSignal): Promise<readonly VerifiedFile[]> {
  const sums = await readSums(join(folder, SUMS));
  const present = await filesOf(folder);
  const all = [...new Set([...present, ...sums.keys()])].filter((file) => file !== SUMS).sort();
  const verified: VerifiedFile[] = [];
  for (const file of all) verified.push(await verifyFile(folder, file, { listed: sums.get(file), signal }));
  return verified;
}

async function verifyFile(
  folder: string,
  file: string,
  { listed, signal }: { readonly listed: string | undefined; readonly signal: AbortSignal | undefined },
): Promise<VerifiedFile> {
  const target = await realTarget(join(folder, file));
  const name = target === null ? "" : basename(target);
  const expected = listed ?? (BLOB_HASH.test(name) ? name : null);
  if (target === null) return { file, expected, actual: null, status: "missing" };
  if (expected === null) return { file, expected, actual: null, status: "unknown" };
  const actual = await fileHash(target, expected, signal);
  return { file, expected, actual, status: actual === expected ? "ok" : "damaged" };
}

/** Files and links below a folder, by relative path. */
export async function filesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

/** `null`: a link to nothing. */
export async function realTarget(file: string): Promise<string | null> {
  try {
    return await realpath(file);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

async function readSums(file: string): Promise<ReadonlyMap<string, string>> {
  try {
    const lines = (await readFile(file, "utf8")).trim().split("\n");
    // `sha256sum` writes names as it was given them, `find` gives them with `./`.
    return new Map(
      lines.map((line) => line.split(/\s+\*?(?:\.\/)?/u)).map(([hash = "", name = ""]) => [name, hash]),
    );
  } catch (error) {
    if (errorCode(error) === "ENOENT") return new Map();
    throw error;
  }
}
