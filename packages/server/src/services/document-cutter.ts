/**
 * Documents of one call, cut into chunks by text workers. A cut write is a list of parts to embed: of each record what
 * is left of it, followed by its chunks. `assemble` puts the embedded parts together again.
 */
import type { Embedder } from "@sheaf/inference";
import { Turns } from "@sheaf/process";
import {
  type Chunking,
  type DocumentText,
  type EmbeddingPlan,
  LIMITS,
  type Metadata,
  type RecordChunk,
  SheafError,
  type WriteRecord,
  chunkId,
  invalid,
  refuseChunkId,
  refuseChunkKeys,
  toDocumentText,
} from "@sheaf/protocol";
import type { RequestBudget } from "../request/request-context.ts";
import { wholeText } from "./text-limit.ts";

export interface CutRecords {
  readonly parts: readonly WriteRecord[];
  /** Record of the write that each part is of. */
  readonly positions: readonly number[];
  /** Where each part lies in its document; `null`: it is what is left of a record. */
  readonly ranges: readonly (Range | null)[];
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** How all documents of a call are cut. */
export interface CuttingRules {
  readonly chunking: Chunking;
  readonly plan: EmbeddingPlan;
}

export class DocumentCutter {
  readonly #embedder: Embedder;
  readonly #budget: RequestBudget;
  /** Records and chunks of all operations of the call so far. */
  #parts = 0;

  constructor(embedder: Embedder, budget: RequestBudget) {
    this.#embedder = embedder;
    this.#budget = budget;
  }

  /**
   * Throws 413 for a document of too many chunks and for too many of the whole call, 400 for an embedding, metadata or an
   * id that a document that is cut cannot have.
   */
  async cut(records: readonly WriteRecord[], rules: CuttingRules): Promise<CutRecords> {
    for (const [i, record] of records.entries()) if (record.document !== null) requireCuttable(record, i);
    const parts: WriteRecord[] = [];
    const positions: number[] = [];
    const ranges: (Range | null)[] = [];
    const turns = new Turns(this.#budget.signal);
    for (const [i, record] of records.entries()) {
      const { document } = record;
      parts.push(document === null ? record : { ...record, document: null });
      positions.push(i);
      ranges.push(null);
      if (document === null) continue;
      const name = `document of record ${JSON.stringify(record.id)} (ids[${i}])`;
      for (const [n, chunk] of (await this.#chunksOf(document, name, rules)).entries()) {
        const id = chunkId(record.id, n);
        parts.push({ id, embedding: null, document: chunk.text, uri: null, metadata: null });
        positions.push(i);
        ranges.push(chunk);
        if (turns.isOver) await turns.take();
      }
    }
    return { parts, positions, ranges };
  }

  async #chunksOf(
    document: DocumentText,
    name: string,
    { chunking, plan }: CuttingRules,
  ): Promise<readonly (Range & { readonly text: DocumentText })[]> {
    const text = await wholeText(document, this.#budget.signal);
    const { by, size, overlap } = chunking;
    const { model, documentInstruction: instruction } = plan;
    const most = LIMITS.chunksPerDocument + 1;
    const split = { model, text, instruction, by, tokens: size, overlap, most };
    const offsets = await this.#embedder.split(split, this.#budget);
    const count = offsets.length / 2;
    if (count === most) throw tooMany(name, `has over ${LIMITS.chunksPerDocument} chunks`);
    this.#parts += 1 + count;
    if (this.#parts > LIMITS.recordsPerWrite) {
      throw tooMany(name, `with its chunks the call has over ${LIMITS.recordsPerWrite} records`);
    }
    return Array.from({ length: count }, (_, i) => {
      const [start, end] = [offsets[2 * i]!, offsets[2 * i + 1]!];
      return { start, end, text: toDocumentText(text.slice(start, end)) };
    });
  }
}

/** The records of a write that was cut, with the chunks of each as they were embedded. */
export async function assemble(
  { positions, ranges }: CutRecords,
  parts: readonly WriteRecord[],
  budget: RequestBudget,
): Promise<readonly WriteRecord[]> {
  const turns = new Turns(budget.signal);
  const records: WriteRecord[] = [];
  const chunks = new Map<number, RecordChunk[]>();
  for (const [i, { embedding, document, metadata, ...part }] of parts.entries()) {
    const range = ranges[i] ?? null;
    if (range === null) {
      const own: RecordChunk[] = [];
      chunks.set(positions[i]!, own);
      records.push({ ...part, embedding, document, metadata });
    } else {
      chunks.get(positions[i]!)!.push({
        ...{ start: range.start, end: range.end, embedding: embedding!, document: document! },
        metadata: metadata as Metadata | null,
      });
    }
    if (turns.isOver) await turns.take();
  }
  return records.map((record, i) => {
    const own = chunks.get(i)!;
    return own.length === 0 ? record : { ...record, chunks: own };
  });
}

function requireCuttable({ id, embedding, metadata }: WriteRecord, index: number): void {
  refuseChunkId(id, `ids[${index}]`);
  refuseChunkKeys(metadata, `metadatas[${index}]`);
  if (embedding === null) return;
  throw invalid(
    `embeddings[${index}]`,
    'a document that is cut has an embedding for each chunk, which the server makes; send none, or `"chunking": {"by": "none"}`',
  );
}

function tooMany(name: string, what: string): SheafError {
  return new SheafError(
    "too_large",
    `${name}: ${what}; write less at once, or let chunks be larger (\`chunking.size\`)`,
  );
}
