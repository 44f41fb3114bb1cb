/** Writes lists of changes one after the other into few files. They are on disk after `close`. */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { EntryWrite } from "../storage/entries.ts";
import type { DiskSpace } from "../storage/folder/disk-space.ts";
import { OWNER_ONLY_FILE } from "../storage/folder/restrict-access.ts";
import { syncFolders } from "../storage/folder/sync-files.ts";
import { PACKS, type StorePart } from "./backup-files.ts";
import { encodeChanges } from "./entry-changes.ts";

/** A pack that has as many gets no more lists. */
const FULL_BYTES = 64 * 2 ** 20;

interface OpenPack {
  readonly name: string;
  readonly file: number;
  bytes: number;
}

export class PackWriter {
  readonly #folder: string;
  readonly #disk: DiskSpace;
  #open: OpenPack | null = null;

  /** `backup`: the folder of the backup. Packs that are there already stay as they are. */
  constructor(backup: string, disk: DiskSpace) {
    this.#folder = join(backup, PACKS);
    this.#disk = disk;
  }

  /** Throws `storage_full`, and what reading the changes throws; then nothing of them is kept. */
  append(changes: Iterable<EntryWrite>): Pick<StorePart, "pack" | "bytes" | "sha256"> {
    const pack = this.#current();
    const at = pack.bytes;
    const hash = createHash("sha256");
    try {
      for (const piece of encodeChanges(changes)) {
        const claim = this.#disk.claimFile(piece.length);
        try {
          for (let from = 0; from < piece.length;)
            from += writeSync(pack.file, piece, from, piece.length - from, pack.bytes + from);
        } finally {
          claim.release();
        }
        hash.update(piece);
        pack.bytes += piece.length;
      }
    } catch (error) {
      ftruncateSync(pack.file, at);
      pack.bytes = at;
      throw error;
    }
    return { pack: { name: pack.name, at }, bytes: pack.bytes - at, sha256: hash.digest("hex") };
  }

  close(): void {
    if (this.#open === null) return;
    const { file } = this.#open;
    this.#open = null;
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  #current(): OpenPack {
    if (this.#open !== null && this.#open.bytes < FULL_BYTES) return this.#open;
    this.close();
    mkdirSync(this.#folder, { recursive: true });
    const name = String(readdirSync(this.#folder).length + 1).padStart(6, "0");
    const file = openSync(join(this.#folder, name), "wx", OWNER_ONLY_FILE);
    syncFolders(this.#folder);
    this.#open = { name, file, bytes: 0 };
    return this.#open;
  }
}
