/**
 * One digest over everything that decides a model's numbers. Read as a stream, so that gigabytes neither fill the
 * memory nor hold up the loop.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";

/**
 * `sha256:<hex>`: of one file its own SHA-256, as upstream lists it; of several that of their sorted lines
 * `<hex>  <file name>\n`.
 */
export async function weightsDigest(files: readonly string[]): Promise<string> {
  const [single] = files;
  if (single !== undefined && files.length === 1) return `sha256:${await fileSha256(single)}`;
  const lines: string[] = [];
  for (const file of files) lines.push(`${await fileSha256(file)}  ${basename(file)}\n`);
  return `sha256:${createHash("sha256").update(lines.sort().join("")).digest("hex")}`;
}

/** A blob of the cache is named by its hash, and gets that name only once it was checked. */
const BLOB_NAME = /^[0-9a-f]{64}$/u;

async function fileSha256(file: string): Promise<string> {
  if (BLOB_NAME.test(basename(file))) return basename(file);
  const hash = createHash("sha256");
  await pipeline(createReadStream(file, { highWaterMark: 1024 * 1024 }), hash);
  return hash.digest("hex");
}
