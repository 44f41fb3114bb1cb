/**
 * `chunking` of a schema or of a write: how the server cuts documents into chunks, each of which is a record. Document X
 * becomes `X#0` to `X#n`, whose metadata says where they come from. A record is a chunk by its id and its `parent` together.
 */
import { invalid, unprocessable } from "../errors.ts";
import {
  countOf,
  exceedsBytes,
  listOf,
  memberPath,
  membersOf,
  optional,
  refuseUnknown,
  required,
  stringOf,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { Metadata, MetadataPatch } from "../metadata.ts";

const CUTS = ["tokens", "sentences", "headings"] as const;

/** Where chunks begin and end. */
export type ChunkedBy = (typeof CUTS)[number];

export interface Chunking {
  readonly by: ChunkedBy;
  /** Tokens of a chunk at most, what the model adds included. A model that takes less has smaller ones. */
  readonly size: number;
  /** Tokens at the end of a chunk that the next one begins with, at most. */
  readonly overlap: number;
}

/** `none`: documents stay whole. */
export type ChunkingChoice = Chunking | "none";

/** Metadata that the server gives a chunk: id of the document, start and end in its UTF-16 units. */
export const CHUNK_KEYS = ["parent", "start", "end"] as const;

const [PARENT_KEY] = CHUNK_KEYS;
const DEFAULT_SIZE = 256;
/** What the id of the last chunk of a document is longer by: `#` and its number. */
const CHUNK_ID_BYTES = chunkId("", LIMITS.chunksPerDocument - 1).length;
const CHUNK_ID = /^(.+)#(?:0|[1-9]\d{0,8})$/su;

/** @throws SheafError 422 for wrong types and unknown words, 400 for unknown members and bounds. */
export function parseChunking(value: unknown, path: string): ChunkingChoice {
  const members = membersOf(value, path);
  refuseUnknown(members, ["by", "size", "overlap"], path);
  const name = stringOf(required(members, "by", path), memberPath(path, "by"));
  const size = countIn(members["size"], memberPath(path, "size")) ?? DEFAULT_SIZE;
  const overlap = countIn(members["overlap"], memberPath(path, "overlap")) ?? 0;
  if (name === "none") {
    const meant = ["size", "overlap"].find((member) => optional(members, member) !== undefined);
    if (meant !== undefined)
      throw invalid(memberPath(path, meant), "says nothing where documents stay whole");
    return "none";
  }
  const by = CUTS.find((cut) => cut === name);
  if (by === undefined) throw unprocessable(memberPath(path, "by"), `must be ${listOf([...CUTS, "none"])}`);
  if (size < LIMITS.chunkTokensMin || size > LIMITS.chunkTokens) {
    throw invalid(
      memberPath(path, "size"),
      `must lie within ${LIMITS.chunkTokensMin} and ${LIMITS.chunkTokens} tokens`,
    );
  }
  if (overlap > size / 2)
    throw invalid(memberPath(path, "overlap"), `must be at most half of the size, ${size} tokens`);
  return Object.freeze({ by, size, overlap });
}

function countIn(value: unknown, path: string): number | null {
  return value === undefined || value === null ? null : countOf(value, path);
}

export function chunkId(parent: string, index: number): string {
  return `${parent}#${index}`;
}

/** Of which document a record with this id is a chunk, if it is one; `null`: none. */
export function parentOfId(id: string): string | null {
  return CHUNK_ID.exec(id)?.[1] ?? null;
}

/** Whether a record is a chunk of that document. */
export function isChunkOf(parent: string, id: string, metadata: MetadataPatch | null): boolean {
  return metadata?.get(PARENT_KEY) === parent && parentOfId(id) === parent;
}

/** Of which document this record is a chunk; `null`: it is none. */
export function parentOf(id: string, metadata: MetadataPatch | null): string | null {
  const parent = parentOfId(id);
  return parent !== null && metadata?.get(PARENT_KEY) === parent ? parent : null;
}

/** What the document of a chunk was written with, and the chunk's own place in it. */
export function chunkMetadata(
  ofDocument: MetadataPatch,
  parent: string,
  { start, end }: { readonly start: number; readonly end: number },
): Metadata {
  const kept = [...ofDocument].filter(
    (entry): entry is [string, NonNullable<(typeof entry)[1]>] => entry[1] !== null,
  );
  return new Map(kept).set("parent", parent).set("start", BigInt(start)).set("end", BigInt(end));
}

/**
 * @throws SheafError 400 for a document whose id could be one of a chunk, so that nobody could tell which is meant, and for
 * one whose chunks would have longer ids than records have.
 */
export function refuseChunkId(id: string, path: string): void {
  if (parentOfId(id) !== null) {
    throw invalid(
      path,
      "a document that is cut cannot have an id that ends as those of chunks do, in # and a number",
    );
  }
  const most = LIMITS.idBytes - CHUNK_ID_BYTES;
  if (!exceedsBytes(id, most)) return;
  const why = `ids of its chunks take up to ${CHUNK_ID_BYTES} more, and ${LIMITS.idBytes} is the limit`;
  throw invalid(path, `a document that is cut cannot have an id of over ${most} bytes: ${why}`);
}

/** @throws SheafError 400 where a chunk would get more keys than records have: what its document had counts with what is written. */
export function refuseKeysOfChunk(metadata: Metadata | null, path: string): void {
  const own = metadata ?? new Map();
  if (own.size <= LIMITS.metadataKeys) return;
  throw invalid(
    path,
    `a chunk of the document would hold ${own.size} keys, among them \`parent\`, \`start\` and \`end\`; the limit is ${LIMITS.metadataKeys}`,
  );
}

/** @throws SheafError 400 where metadata of a document that is cut has what the server gives its chunks, or no room for it. */
export function refuseChunkKeys(metadata: MetadataPatch | null, path: string): void {
  const taken = CHUNK_KEYS.find((key) => metadata?.has(key) === true);
  if (taken !== undefined) {
    throw invalid(memberPath(path, taken), "is the server's in the chunks of a document; use another key");
  }
  const most = LIMITS.metadataKeys - CHUNK_KEYS.length;
  const kept = metadata === null ? 0 : [...metadata.values()].filter((value) => value !== null).length;
  if (kept > most) throw invalid(path, `holds ${kept} keys, the limit of a document that is cut is ${most}`);
}
