/** Files to and from a bucket, in pieces, so that memory does not grow with them. Requests that fail are sent again by the store. */
import { createHash } from "node:crypto";
import { constants, readdirSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { createDiskSpace } from "../../storage/folder/disk-space.ts";
import { makeFolder } from "../../storage/folder/make-folder.ts";
import { openFile } from "../../storage/folder/open-file.ts";
import { OWNER_ONLY_FILE } from "../../storage/folder/restrict-access.ts";
import type { ObjectStore } from "../../storage/objects/object-store.ts";
import { ObjectWriter } from "../../storage/objects/object-writer.ts";
import { inFull } from "../../storage/objects/store-failure.ts";
import { namingFullDisk } from "../naming-full-disk.ts";
import { type FileRange, type FileSum, writeAll } from "../summed-file.ts";

const PIECE_BYTES = 8 * 2 ** 20;
const READ_BYTES = 2 ** 20;
const WRITE_OR_MAKE = constants.O_WRONLY | constants.O_CREAT;

/** Paths of all files below a folder, from there. */
export function filesBelow(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => statSync(join(folder, name)).isFile()).toSorted();
}

/** Makes a file that does not exist yet. Gives its bytes. Throws `failed_precondition` where the object is gone, or another one meanwhile. */
export async function fetchFile(store: ObjectStore, object: string, path: string): Promise<number> {
  const whole = { at: 0, bytes: Infinity };
  return (await receive(piecesOf(store, object, whole), { path, at: 0, flags: "wx" })).bytes;
}

export interface FetchedPart extends FileRange, FileSum {
  readonly path: string;
}

/**
 * To its place in a file that may be there, or be made. Throws as `fetchFile`, and `failed_precondition` where it does not have
 * its sum.
 */
export async function fetchPart(store: ObjectStore, object: string, part: FetchedPart): Promise<void> {
  const { path, at, bytes, sha256 } = part;
  const found = await receive(piecesOf(store, object, { at, bytes }), { path, at, flags: WRITE_OR_MAKE });
  if (found.bytes !== bytes || found.sha256 !== sha256)
    throw new SheafError(
      "failed_precondition",
      `${object} is damaged: what lies at byte ${at} does not have its checksum`,
    );
}

async function* piecesOf(
  store: ObjectStore,
  object: string,
  { at: from, bytes }: FileRange,
): AsyncGenerator<Buffer, void> {
  let tag: string | null = null;
  // There is no range without bytes.
  if (bytes === 0) return;
  for (let at = from; ;) {
    const piece = await store.get(object, `${at}-${Math.min(at + PIECE_BYTES, from + bytes) - 1}`);
    if (piece === null || piece.start !== at || (tag !== null && piece.tag !== tag))
      throw new SheafError("failed_precondition", `${object} is missing in the bucket, or changes`);
    tag = piece.tag;
    yield piece.bytes;
    at += piece.bytes.length;
    if (at >= Math.min(piece.size, from + bytes)) return;
    if (piece.bytes.length === 0) throw new SheafError("unavailable", `${object} ends too early`);
  }
}

interface ReceivingFile {
  readonly path: string;
  readonly at: number;
  readonly flags: string | number;
}

async function receive(pieces: AsyncIterable<Buffer>, file: ReceivingFile): Promise<FileSum> {
  try {
    return await writePieces(pieces, file);
  } catch (error) {
    throw namingFullDisk(dirname(file.path), error);
  }
}

async function writePieces(
  pieces: AsyncIterable<Buffer>,
  { path, at: from, flags }: ReceivingFile,
): Promise<FileSum> {
  makeFolder(dirname(path));
  const disk = createDiskSpace(dirname(path));
  const file = await open(path, flags, OWNER_ONLY_FILE);
  const hash = createHash("sha256");
  let at = from;
  try {
    for await (const piece of pieces) {
      const claim = disk.claimFile(piece.length);
      try {
        await writeAll(file, piece, at);
      } finally {
        claim.release();
      }
      hash.update(piece);
      at += piece.length;
    }
    return { bytes: at - from, sha256: hash.digest("hex") };
  } finally {
    await file.close();
  }
}

/** Makes an object that does not exist yet. Throws with its name where the bucket cannot be reached. */
export async function sendFile(store: ObjectStore, path: string, object: string): Promise<void> {
  const file = await openFile(path);
  const writer = new ObjectWriter(store, object);
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length);
      if (bytesRead === 0) break;
      await writer.write(buffer.subarray(0, bytesRead));
    }
    await writer.commit();
  } catch (error) {
    await writer.abort();
    if (!(error instanceof SheafError)) throw error;
    throw new SheafError(error.code, `${object}: ${inFull(error)}`, { cause: error });
  } finally {
    await file.close();
  }
}
