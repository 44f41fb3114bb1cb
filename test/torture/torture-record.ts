/**
 * The records of the torture. Everything in one follows from its id and the nonce of the write that made it, so the
 * log needs only nonces, and a record that is half one write and half another gives itself away.
 */
import { seededRandom } from "../../benchmarks/measure/random.ts";
import { hashText } from "./choices.ts";

export const DIMENSION = 8;
export const TAGS = ["red", "green", "blue", "black", "white"] as const;
/** Records that are always written together, and deleted together, carry this tag and no other does. */
const GROUP_TAG = "group";
const GROUP_SIZE = 5;
const TERMS = 40;
const WORDS = ["tide", "harbour", "lantern", "granite", "meadow", "copper", "orchard"] as const;

export interface SparseTerms {
  readonly "#type": "sparse_vector";
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

export interface RecordMetadata {
  readonly n: number;
  readonly owner: string;
  readonly tag: string;
  readonly terms: SparseTerms;
}

export interface TortureRecord {
  readonly id: string;
  readonly embedding: readonly number[];
  readonly document: string;
  readonly metadata: RecordMetadata;
}

/** Columns of a write, as the record routes take them. */
export interface RecordColumns {
  readonly ids: readonly string[];
  readonly embeddings: readonly (readonly number[])[];
  readonly documents: readonly string[];
  readonly metadatas: readonly RecordMetadata[];
}

export function recordId(owner: string, number: number): string {
  return `${owner}/r${number}`;
}

export function groupIds(owner: string): string[] {
  return Array.from({ length: GROUP_SIZE }, (_, i) => `${owner}/g${i}`);
}

export function isGrouped(id: string): boolean {
  return id.includes("/g");
}

export function makeRecord(id: string, nonce: number): TortureRecord {
  const random = seededRandom(hashText(`${id}#${nonce}`));
  const [owner = ""] = id.split("/");
  const word = WORDS[Math.floor(random() * WORDS.length)] ?? WORDS[0];
  const tag = TAGS[Math.floor(random() * TAGS.length)] ?? TAGS[0];
  const first = Math.floor(random() * (TERMS - 4));
  return {
    id,
    embedding: Array.from({ length: DIMENSION }, () => Math.fround(random() * 2 - 1)),
    document: `${id} ${word} ${nonce}`,
    metadata: {
      n: nonce,
      owner,
      tag: isGrouped(id) ? GROUP_TAG : tag,
      terms: {
        "#type": "sparse_vector",
        indices: [first, first + 1 + Math.floor(random() * 2), first + 3],
        values: Array.from({ length: 3 }, () => Math.fround(0.1 + random())),
      },
    },
  };
}

export function columnsOf(records: readonly TortureRecord[]): RecordColumns {
  return {
    ids: records.map(({ id }) => id),
    embeddings: records.map(({ embedding }) => embedding),
    documents: records.map(({ document }) => document),
    metadatas: records.map(({ metadata }) => metadata),
  };
}

/** Numbers as 32-bit floats, for the server prints those and JSON reads 64-bit ones. Equal text means equal record. */
export function canonicalRecord({ id, embedding, document, metadata }: TortureRecord): string {
  const { n, owner, tag, terms } = metadata;
  return JSON.stringify([
    id,
    embedding.map(Math.fround),
    document,
    [n, owner, tag, terms.indices, terms.values.map(Math.fround), Object.keys(metadata).length],
  ]);
}
