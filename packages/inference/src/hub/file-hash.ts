/** The hash by which a hub names the contents of a file: SHA-256 of large ones, Git's SHA-1 of an object of small ones. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

const SHA256_DIGITS = 64;
const READ_BYTES = 1024 * 1024;

/** Hash of the file in the form that `like` has. */
export async function fileHash(file: string, like: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash(like.length === SHA256_DIGITS ? "sha256" : "sha1");
  if (like.length !== SHA256_DIGITS) hash.update(`blob ${(await stat(file)).size}\0`);
  await pipeline(createReadStream(file, { highWaterMark: READ_BYTES }), hash, { signal });
  return hash.digest("hex");
}
