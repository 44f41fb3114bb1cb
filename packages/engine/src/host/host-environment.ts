/**
 * What the engine host finds in its environment beside what the gateway has. By itself glibc serves ever larger blocks from
 * its heap, up to 32 MiB, once some were freed; the heap then keeps what tails and batches leave, for whatever lies above
 * them. With a threshold of our own it stays as it is, and larger blocks go back to the system when they are freed: a
 * tenth of the memory after 100,000 records were written.
 */
export const HOST_ENVIRONMENT: Readonly<Record<string, string>> = {
  MALLOC_MMAP_THRESHOLD_: String(256 * 1024),
};
