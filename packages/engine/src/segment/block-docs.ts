/**
 * DocIds of a segment that are kept together, and so positions that are always of one segment: their metadata, columns,
 * signatures, and vectors while these are whole. At 384 dimensions that is 6.3 MB of vectors, and a column of so many
 * is made in a millisecond or two.
 */
export const BLOCK_DOCS = 4_096;
export const BLOCK_WORDS = BLOCK_DOCS / 32;
