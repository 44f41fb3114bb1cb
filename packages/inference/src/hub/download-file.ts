/**
 * One file of a hub into the cache. What an interruption leaves is continued; only what has the right hash gets its
 * final name, so a blob that exists is whole.
 */
import { throwIfAborted } from "@sheaf/protocol";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../graph/model-file.ts";
import { fileHash } from "./file-hash.ts";
import type { HubClient, HubFile } from "./hub-client.ts";
import { hubError, TransientHubError } from "./hub-error.ts";
import { retrying, type Wait } from "./retrying.ts";

export interface DownloadTarget {
  readonly repository: string;
  readonly commit: string;
  readonly file: HubFile;
  /** Folder of the blobs. */
  readonly blobs: string;
}

export interface DownloadOptions {
  readonly wait: Wait;
  readonly signal: AbortSignal | undefined;
  /** Bytes of this file that are here, as they come; less than before when it starts again. */
  readonly onBytes: (bytes: number) => void;
}

/** Wrong bytes may come from what an earlier interruption left, so a file is fetched anew once. */
const ROUNDS = 2;

/** Path of the blob. Throws 503 if it cannot be had whole. */
export async function downloadFile(
  client: HubClient,
  target: DownloadTarget,
  options: DownloadOptions,
): Promise<string> {
  const { file, blobs } = target;
  const blob = join(blobs, file.hash);
  if ((await sizeOf(blob)) === file.size) {
    options.onBytes(file.size);
    return blob;
  }
  await mkdir(blobs, { recursive: true });
  const incomplete = `${blob}.incomplete`;
  let found = "";
  for (let round = 1; round <= ROUNDS; round++) {
    let received = 0;
    const report = (bytes: number): void => {
      received = Math.max(received, bytes);
      options.onBytes(bytes);
    };
    const attempt = (): Promise<void> => transfer(client, { ...target, incomplete }, { ...options, report });
    await retrying(attempt, { ...options, progress: () => received });
    found = await fileHash(incomplete, file.hash, options.signal);
    if (found === file.hash) {
      await rename(incomplete, blob);
      return blob;
    }
    await rm(incomplete, { force: true });
  }
  throw hubError(
    `${file.path} of ${target.repository}: what was downloaded has the hash ${found}, upstream lists ${file.hash}; nothing of it was kept`,
  );
}

async function transfer(
  client: HubClient,
  target: DownloadTarget & { readonly incomplete: string },
  options: DownloadOptions & { readonly report: (bytes: number) => void },
): Promise<void> {
  const { file, incomplete, repository, commit } = target;
  const present = (await sizeOf(incomplete)) ?? 0;
  const from = present > file.size ? 0 : present;
  options.report(from);
  if (from === file.size && present === file.size) return;
  const body = await client.open({ repository, commit, path: file.path }, from, options.signal);
  const handle = await open(incomplete, body.offset === 0 ? "w" : "a");
  let bytes = body.offset;
  try {
    for await (const chunk of body.chunks) {
      throwIfAborted(options.signal);
      await handle.appendFile(chunk);
      bytes += chunk.length;
      options.report(bytes);
      // Too long is as wrong as a wrong hash, which is what comes of it.
      if (bytes > file.size) break;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (bytes < file.size) {
    throw new TransientHubError(`${file.path} ended after ${bytes} of ${file.size} bytes`, {});
  }
}

/** `null`: there is no such file. */
async function sizeOf(file: string): Promise<number | null> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}
