/**
 * Runs regular expressions over the documents that the trigrams have left: this thread reads documents into batches
 * while another one matches the batches before.
 */
import { listBits } from "../../segment/bits.ts";
import { DocumentBatch, type DocumentRow } from "./document-batch.ts";
import type { Pace } from "../pace.ts";
import type { RecordView } from "../record-view.ts";
import type { RegexThread } from "./regex-thread.ts";
import type { RequestPatterns } from "./request-patterns.ts";

/** Which rows of a block match; whoever asks finds them in `found`. */
export interface RegexTest {
  readonly pattern: string;
  /** Position of the block's row 0. */
  readonly first: number;
  readonly rows: Uint32Array;
  readonly found: Uint32Array;
}

/** Batches that wait for the other thread: it should find one when it is done with one. */
const MAX_AHEAD = 2;
/** Work between two looks at the clock, in rows; a document counts by its length. */
const ROWS_PER_BREATH = 256;
const BYTES_PER_ROW = 512;

export async function scanDocuments(
  tests: readonly RegexTest[],
  patterns: RequestPatterns,
  { view, pace }: { readonly view: RecordView; readonly pace: Pace },
): Promise<void> {
  const byPattern = new Map<string, RegexTest[]>();
  for (const test of tests) {
    const same = byPattern.get(test.pattern);
    if (same === undefined) byPattern.set(test.pattern, [test]);
    else same.push(test);
  }
  await patterns.run(async (thread) => {
    // Pattern after pattern: many large ones do not stay compiled side by side.
    for (const [pattern, same] of byPattern) await new PatternScan(pattern, thread).run(same, view, pace);
  });
}

class PatternScan {
  readonly #pattern: string;
  readonly #thread: RegexThread;
  readonly #asked: Promise<void>[] = [];
  #batch = new DocumentBatch();

  constructor(pattern: string, thread: RegexThread) {
    this.#pattern = pattern;
    this.#thread = thread;
  }

  async run(tests: readonly RegexTest[], view: RecordView, pace: Pace): Promise<void> {
    let work = 0;
    for (const { first, rows, found } of tests) {
      for (const local of listBits(rows)) {
        const document = view.document(first + local);
        if (document !== null) this.#add(document, { found, local });
        work += 1 + (document?.length ?? 0) / BYTES_PER_ROW;
        if (this.#asked.length > MAX_AHEAD) await this.#asked.shift();
        if (work < ROWS_PER_BREATH) continue;
        work = 0;
        await pace.breathe();
      }
    }
    this.#send();
    await Promise.all(this.#asked);
  }

  #add(document: Uint8Array, row: DocumentRow): void {
    if (this.#batch.add(document, row)) return;
    this.#send();
    this.#batch.add(document, row);
  }

  #send(): void {
    const batch = this.#batch;
    if (batch.rows.length === 0) return;
    this.#batch = new DocumentBatch();
    const { text, ends } = batch.packed();
    const task = { type: "match", pattern: this.#pattern, text, ends } as const;
    const marked = this.#thread.ask(task, [text.buffer, ends.buffer]).then((matches) => mark(batch, matches));
    // Whoever waits for the scan hears of it, unless it has failed by itself before.
    marked.catch(() => {});
    this.#asked.push(marked);
  }
}

function mark({ rows }: DocumentBatch, matches: Uint8Array): void {
  for (const [i, { found, local }] of rows.entries()) {
    if (matches[i] === 1) found[local >>> 5]! |= 1 << (local & 31);
  }
}
