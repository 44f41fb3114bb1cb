/** How the engine host and the indexer are started. */
import { type SpawnOptions, YOUNG_SPACE_ARGS } from "@sheaf/process";

/**
 * By itself glibc serves ever larger blocks from its heap, up to 32 MiB, once some were freed; the heap then keeps what
 * tails and batches leave, for whatever lies above them. With a threshold of our own it stays as it is, and larger blocks
 * go back to the system when they are freed: a tenth of the memory after 100,000 records were written.
 */
const ENVIRONMENT = { MALLOC_MMAP_THRESHOLD_: String(256 * 1024) };

/** Where an engine host finds the lock of its data folder: behind the standard streams and its channel. */
export const INHERITED_LOCK_FD = 4;

export const HOST_PROCESS: SpawnOptions = { env: ENVIRONMENT, nodeArgs: YOUNG_SPACE_ARGS };
