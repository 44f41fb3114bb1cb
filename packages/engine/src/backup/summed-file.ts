/** Files with their sizes and SHA-256 sums, read and copied in pieces, so that memory does not grow with them. */
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { LACKING, NoFile, openFile } from "../storage/folder/open-file.ts";
import { OWNER_ONLY_FILE } from "../storage/folder/restrict-access.ts";
import { errorCode } from "../storage/lmdb/commit-cause.ts";

export interface FileSum {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

export interface FileRange {
  readonly at: number;
  readonly bytes: number;
}

const PIECE_BYTES = 2 ** 20;

export async function sumFile(path: string): Promise<FileSum> {
  const file = await openFile(path);
  try {
    return await eachPiece(file, async () => {});
  } finally {
    await file.close();
  }
}

/** Why a file that was to be copied cannot be read; `null`: it can. Throws where the process or the machine lacks something. */
export async function whyUnreadable(path: string): Promise<string | null> {
  try {
    await sumFile(path);
    return null;
  } catch (error) {
    if (error instanceof NoFile) return "is no file";
    const code = errorCode(error);
    if (typeof code !== "string" || LACKING.has(code)) throw error;
    return `cannot be read (${code})`;
  }
}

/** Copies into a file that does not exist yet, and resolves when the copy is on disk. The sum is that of what was read. */
export async function copyFile(from: string, to: string): Promise<FileSum> {
  const source = await openFile(from);
  try {
    const target = await open(to, "wx", OWNER_ONLY_FILE);
    try {
      const sum = await eachPiece(source, (piece) => writeAll(target, piece));
      await target.sync();
      return sum;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Of a part of a file; fewer bytes where the file ends before. */
export function sumRange(file: FileHandle, { at, bytes }: FileRange): Promise<FileSum> {
  return eachPiece(file, async () => {}, { at, bytes });
}

async function eachPiece(
  file: FileHandle,
  use: (piece: Uint8Array) => Promise<void>,
  { at, bytes: most }: FileRange = { at: 0, bytes: Infinity },
): Promise<FileSum> {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, most));
  let bytes = 0;
  for (;;) {
    const length = Math.min(buffer.length, most - bytes);
    const { bytesRead } = length === 0 ? { bytesRead: 0 } : await file.read(buffer, 0, length, at + bytes);
    if (bytesRead === 0) return { bytes, sha256: hash.digest("hex") };
    const piece = buffer.subarray(0, bytesRead);
    hash.update(piece);
    await use(piece);
    bytes += bytesRead;
  }
}

/** @param at Where they come to lie; behind what was written last if it is left out. */
export async function writeAll(file: FileHandle, bytes: Uint8Array, at?: number): Promise<void> {
  for (let from = 0; from < bytes.length;) {
    const position = at === undefined ? undefined : at + from;
    from += (await file.write(bytes, from, bytes.length - from, position)).bytesWritten;
  }
}
