/**
 * Finds what the filter of a read looked for in the documents that it shows, batch by batch, in a thread that runs regular
 * expressions and is ended where it runs past the request.
 */
import type { DocumentText, ResultRecord } from "@sheaf/protocol";
import type { Pace } from "../pace.ts";
import type { TenantRegexes } from "../regex/regex-pool.ts";
import type { RecordBatch } from "../result-reader.ts";
import type { SoughtClause } from "./sought-clauses.ts";

export class Highlighter {
  readonly #regexes: TenantRegexes;
  readonly #clauses: readonly (readonly SoughtClause[])[];

  /** `clauses`: by list of the read; none where it does not ask for highlights. */
  constructor(regexes: TenantRegexes, clauses: readonly (readonly SoughtClause[])[]) {
    this.#regexes = regexes;
    this.#clauses = clauses;
  }

  /**
   * The batch with `highlights` of the records that have a document, whose list seeks something. Throws 429 where too many
   * requests of the tenant wait for such a thread, and as `Pace.breathe`.
   */
  async mark(batch: RecordBatch, pace: Pace): Promise<RecordBatch> {
    const lists: (readonly ResultRecord[])[] = [...batch.lists];
    for (const [i, records] of batch.lists.entries()) {
      const clauses = this.#clauses[batch.first + i] ?? [];
      if (clauses.length > 0) lists[i] = await this.#markList(records, clauses, pace);
    }
    return { ...batch, lists };
  }

  async #markList(
    records: readonly ResultRecord[],
    clauses: readonly SoughtClause[],
    pace: Pace,
  ): Promise<readonly ResultRecord[]> {
    const shown = records.flatMap(({ document }, place) => (document ? [{ place, document }] : []));
    if (shown.length === 0) return records;
    const { text, ends } = await packDocuments(shown, pace);
    const found = await this.#regexes.run(pace.signal, (thread) =>
      thread.ask({ type: "find", clauses, text, ends }, [text.buffer, ends.buffer]),
    );
    const marked = [...records];
    for (const [i, { place }] of shown.entries())
      marked[place] = { ...records[place]!, highlights: found[i]! };
    return marked;
  }
}

type Packed = { readonly text: Uint8Array<ArrayBuffer>; readonly ends: Uint32Array<ArrayBuffer> };

/** Documents as UTF-8, one after the other. */
async function packDocuments(
  shown: readonly { readonly document: DocumentText }[],
  pace: Pace,
): Promise<Packed> {
  const documents: Uint8Array[] = [];
  for (const { document } of shown) {
    const utf8 = typeof document === "string" ? Buffer.from(document, "utf8") : document;
    documents.push(utf8);
    if (pace.spend(utf8.length)) await pace.breathe();
  }
  const ends = new Uint32Array(documents.length);
  const text = new Uint8Array(documents.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const [i, utf8] of documents.entries()) {
    text.set(utf8, end);
    ends[i] = end += utf8.length;
  }
  return { text, ends };
}
