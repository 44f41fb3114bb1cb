/**
 * What all replies share that are not sent the moment they are made: their budget of bytes, the turns in which they are
 * fetched, the memory they may take before they go to disk, and the folder they lie in there.
 */
import type { DiskReserve } from "@sheaf/engine";
import { ByteBudget } from "@sheaf/protocol";
import { FairTurns, type TurnOwner } from "../request/fair-turns.ts";
import { SpoolFolder } from "./spool-folder.ts";

export interface ReplyBounds {
  /** Bytes of one reply. */
  readonly replyBytes: number;
  /** Bytes of the replies of a tenant that are being made or sent, where it has several. */
  readonly replyBytesPerTenant: number;
  /** Of all tenants. */
  readonly replyBytesTotal: number;
}

export interface ReplyStoreOptions extends ReplyBounds {
  /** Path of the folder for replies that do not fit into memory; made when it is needed. */
  readonly folder: string;
  /** What is kept free on its disk. */
  readonly diskReserve: DiskReserve;
}

const MIB = 1024 * 1024;
/** Bytes that a reply keeps in memory, and those of all replies from which on each keeps little. */
const MEMORY_BYTES = MIB;
const LITTLE_BYTES = 64 * 1024;
const ALL_MEMORY_BYTES = 128 * MIB;
/** Replies whose batches are fetched and written at once; each holds one batch or one long item. */
const FETCHED_AT_ONCE = 3;

export class ReplyStore {
  readonly replyBytes: number;
  readonly budget: ByteBudget;
  readonly folder: SpoolFolder;
  /** Of fetching and writing a batch. */
  readonly turns = new FairTurns(FETCHED_AT_ONCE);
  /** Bytes of replies in memory, and in files. */
  inMemory = 0;
  spooled = 0;
  /** Replies so far. */
  #begun = 0;

  constructor({ replyBytes, replyBytesPerTenant, replyBytesTotal, folder, diskReserve }: ReplyStoreOptions) {
    this.replyBytes = replyBytes;
    this.budget = new ByteBudget({
      what: "replies",
      perTenant: replyBytesPerTenant,
      whole: replyBytesTotal,
    });
    this.folder = new SpoolFolder({ path: folder, diskReserve });
  }

  /** Of a reply that begins now. */
  newOwner(tenant: string): TurnOwner {
    return { tenant, age: this.#begun++ };
  }

  /** Whether replies may stay in memory where the disk has no room for them. */
  get hasMemory(): boolean {
    return this.inMemory < ALL_MEMORY_BYTES;
  }

  /** From how many bytes on a reply goes to disk. */
  get memoryBytes(): number {
    return this.inMemory > ALL_MEMORY_BYTES ? LITTLE_BYTES : MEMORY_BYTES;
  }
}
