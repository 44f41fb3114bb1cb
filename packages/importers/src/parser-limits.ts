/** What one file may use. Whatever exceeds it is skipped with a reason, and nothing else is harmed. */
export const PARSER_LIMITS = {
  /** Of a file as it lies on the disk. */
  fileBytes: 64 * 2 ** 20,
  /** Resident memory of the process that parses. */
  memoryBytes: 512 * 2 ** 20,
  /** Of its JavaScript objects. */
  heapMb: 320,
  seconds: 30,
  /** An archive inflates to that much at most, and to that many times its size. */
  inflatedBytes: 256 * 2 ** 20,
  inflation: 100,
  archiveEntries: 10_000,
  pdfPages: 10_000,
  /** Of the text that comes out, in UTF-16 units, and of its parts. */
  textLength: 16 * 2 ** 20,
  parts: 100_000,
  /** A process parses that many files, then another takes its place. */
  filesPerProcess: 200,
} as const;

/** What the process may use that reads a table. It holds one row group or record batch, and not the file. */
export const TABLE_LIMITS = {
  memoryBytes: 2 * 2 ** 30,
  heapMb: 1_536,
  /** For a row group, or some rows of it. */
  seconds: 120,
  rowsPerAnswer: 500,
  /** Of their texts, after which an answer has no further rows. */
  charactersPerAnswer: 4 * 2 ** 20,
} as const;
