/** Files to and from a bucket, in pieces, so that memory does not grow with them. Requests that fail are sent again by the store. */
import { readdirSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { createDiskSpace } from "../../storage/folder/disk-space.ts";
import { makeFolder } from "../../storage/folder/make-folder.ts";
import { openFile } from "../../storage/folder/open-file.ts";
import { OWNER_ONLY_FILE } from "../../storage/folder/restrict-access.ts";
import type { ObjectStore } from "../../storage/objects/object-store.ts";
import { ObjectWriter } from "../../storage/objects/object-writer.ts";
import { namingFullDisk } from "../naming-full-disk.ts";

const PIECE_BYTES = 8 * 2 ** 20;
const READ_BYTES = 2 ** 20;

/** Paths of all files below a folder, from there. */
export function filesBelow(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => statSync(join(folder, name)).isFile()).toSorted();
}

/** Makes a file that does not exist yet. Gives its bytes. Throws `failed_precondition` where the object is gone, or another one meanwhile. */
export async function fetchFile(store: ObjectStore, object: string, path: string): Promise<number> {
  makeFolder(dirname(path));
  const disk = createDiskSpace(dirname(path));
  const file = await open(path, "wx", OWNER_ONLY_FILE);
  try {
    let tag: string | null = null;
    for (let at = 0; ;) {
      const piece = await store.get(object, `${at}-${at + PIECE_BYTES - 1}`);
      if (piece === null || piece.start !== at || (tag !== null && piece.tag !== tag))
        throw new SheafError("failed_precondition", `${object} is missing in the bucket, or changes`);
      tag = piece.tag;
      const claim = disk.claimFile(piece.bytes.length);
      try {
        await file.writeFile(piece.bytes);
      } finally {
        claim.release();
      }
      at += piece.bytes.length;
      if (at >= piece.size) return at;
      if (piece.bytes.length === 0) throw new SheafError("unavailable", `${object} ends too early`);
    }
  } catch (error) {
    throw namingFullDisk(dirname(path), error);
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
    throw new SheafError(error.code, `${object}: ${error.message}`, { cause: error });
  } finally {
    await file.close();
  }
}
