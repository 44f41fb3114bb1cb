/**
 * A reply that grows column by column at the same time: pieces of UTF-8 for each column, in memory and, beyond about a
 * MiB, in one file. Nothing is sent before all of it is here, so whatever goes wrong until then has a status of its own,
 * and how long the reply is, is known.
 */
import type { FileHandle } from "node:fs/promises";
import { beginSlice, isSliceOver, nextSlice } from "@sheaf/process";
import { type ByteLease, type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import { ReplyBody, type ReplyPart } from "./reply-body.ts";
import type { ReplyStore } from "./reply-store.ts";

/** Characters of a column that are made bytes together. */
const SEAL_CHARACTERS = 16 * 1024;
/** Bytes of files between two looks at how much room the disk has. */
const BYTES_PER_LOOK = 32 * 1024 * 1024;

interface Column {
  text: string;
  /** In memory, after all that is in the file. */
  pending: Buffer[];
  readonly parts: ReplyPart[];
}

export interface ReplyPiecesOptions {
  readonly columns: number;
  /** Longest reply; what every reply may have, where that is less or nothing is said. */
  readonly mostBytes?: number;
  /** What to do about one that is longer. */
  readonly advice: string;
}

export class ReplyPieces {
  readonly #store: ReplyStore;
  readonly #tenant: string;
  readonly #lease: ByteLease;
  readonly #columns: readonly Column[];
  readonly #mostBytes: number;
  readonly #advice: string;
  #file: FileHandle | null = null;
  #fileBytes = 0;
  #lookAt = 0;
  #pendingBytes = 0;
  /** Bytes in memory at which a disk without room is asked again. */
  #keepBytes = 0;
  #bytes = 0;

  constructor(store: ReplyStore, tenant: string, { columns, mostBytes, advice }: ReplyPiecesOptions) {
    this.#store = store;
    this.#tenant = tenant;
    this.#mostBytes = Math.min(mostBytes ?? store.replyBytes, store.replyBytes);
    this.#advice = advice;
    this.#lease = store.budget.charge(tenant, 0);
    this.#columns = Array.from({ length: columns }, () => ({ text: "", pending: [], parts: [] }));
  }

  /** So much is in memory that it should go to the file. */
  get #isFull(): boolean {
    return this.#pendingBytes >= Math.max(this.#store.memoryBytes, this.#keepBytes);
  }

  /** To be called before the first piece of some. */
  begin(): void {
    beginSlice();
  }

  /**
   * To be awaited after each piece, where there is something to wait for: a place for what is in memory, or the next
   * slice of the event loop, which all long work shares. Throws after an abort.
   */
  pause(signal: CancelSignal): Promise<void> | undefined {
    return this.#isFull || isSliceOver() ? this.#pause(signal) : undefined;
  }

  async #pause(signal: CancelSignal): Promise<void> {
    if (this.#isFull) await this.flush();
    beginSlice();
    if (isSliceOver()) await nextSlice(this.#tenant);
    throwIfAborted(signal);
  }

  /** Throws 413 for a reply that is too long, 429 and 503 over the budgets. */
  write(column: number, text: string): void {
    const into = this.#columns[column]!;
    into.text += text;
    if (into.text.length >= SEAL_CHARACTERS) this.#seal(into);
  }

  /** Throws 413 where so many bytes more are too many. */
  expect(bytes: number): void {
    if (this.#bytes + bytes <= this.#mostBytes) return;
    throw new SheafError(
      "too_large",
      `limit: the reply is longer than ${this.#mostBytes} bytes; ${this.#advice}`,
    );
  }

  /** Moves what is in memory to the file, if the disk has room. */
  async flush(): Promise<void> {
    const file = await this.#openWithRoom();
    if (file === null) {
      this.#keepBytes = this.#pendingBytes + this.#store.memoryBytes;
      return;
    }
    const buffers: Buffer[] = [];
    let position = this.#fileBytes;
    for (const column of this.#columns) {
      this.#seal(column);
      const length = column.pending.reduce((sum, piece) => sum + piece.length, 0);
      if (length === 0) continue;
      column.parts.push({ position, length });
      position += length;
      buffers.push(...column.pending);
      column.pending = [];
    }
    await this.#store.folder.guard(() => writeAll(file, buffers, this.#fileBytes));
    this.#store.spooled += position - this.#fileBytes;
    this.#fileBytes = position;
    this.#forgetPending();
  }

  /** The whole reply where it is so short that none of it is bytes yet; `null` where it is not. */
  shortText(end: string): string | null {
    if (this.#bytes > 0) return null;
    this.#release();
    return this.#columns.map(({ text }) => text).join("") + end;
  }

  /** `null`: the reply stays in memory, since reads go on while the disk is full. Throws 503 once that is full, too. */
  async #openWithRoom(): Promise<FileHandle | null> {
    const { folder, hasMemory } = this.#store;
    const position = this.#fileBytes + this.#pendingBytes;
    if (this.#file !== null && position < this.#lookAt) return this.#file;
    try {
      this.#file ??= await folder.open();
      await folder.require(BYTES_PER_LOOK);
      this.#lookAt = position + BYTES_PER_LOOK;
      return this.#file;
    } catch (error) {
      if (hasMemory) return null;
      throw error;
    }
  }

  /** The whole reply, which owns the file from here on. `end` follows after the columns. */
  body(end: string): ReplyBody {
    for (const column of this.#columns) this.#seal(column);
    const tail = Buffer.from(end);
    this.#charge(tail.length);
    const parts = this.#columns.flatMap((column) => [...column.parts, ...column.pending]);
    return new ReplyBody({
      parts: [...parts, tail],
      byteLength: this.#bytes,
      file: this.#file,
      onClose: () => this.#release(),
    });
  }

  /** Of a reply that comes to nothing. */
  async close(): Promise<void> {
    await this.#file?.close();
    this.#release();
  }

  #seal(column: Column): void {
    if (column.text === "") return;
    const piece = Buffer.from(column.text);
    column.text = "";
    this.#charge(piece.length);
    column.pending.push(piece);
  }

  #charge(bytes: number): void {
    this.expect(bytes);
    this.#lease.grow(bytes);
    this.#bytes += bytes;
    this.#pendingBytes += bytes;
    this.#store.inMemory += bytes;
  }

  #forgetPending(): void {
    this.#store.inMemory -= this.#pendingBytes;
    this.#pendingBytes = 0;
  }

  #release(): void {
    this.#forgetPending();
    this.#store.spooled -= this.#fileBytes;
    this.#fileBytes = 0;
    this.#lease.release();
  }
}

/** As they are: one copy of all of them would take longer than the rest of writing them. */
async function writeAll(file: FileHandle, pieces: readonly Buffer[], position: number): Promise<void> {
  let at = position;
  for (let left = pieces; left.length > 0;) {
    const { bytesWritten } = await file.writev(left, at);
    at += bytesWritten;
    left = after(left, bytesWritten);
  }
}

/** What is left of the pieces behind so many bytes. */
function after(pieces: readonly Buffer[], bytes: number): readonly Buffer[] {
  let behind = bytes;
  for (const [i, piece] of pieces.entries()) {
    if (behind < piece.length) return [piece.subarray(behind), ...pieces.slice(i + 1)];
    behind -= piece.length;
  }
  return [];
}
