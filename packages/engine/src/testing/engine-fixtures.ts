/** What tests of an engine share: records, collections and reading everything back. */
import { randomUUID } from "node:crypto";
import {
  type CollectionRef,
  type ResultRecord,
  type WriteKind,
  type WriteRecord,
  parseCreateCollection,
} from "@sheaf/protocol";
import type { Engine, ResultBatch } from "../engine.ts";

export const AT = { tenant: "default_tenant", database: "default_database" };
/** No paging. */
export const ALL = { limit: null, offset: 0 };
export const INCLUDE = {
  documents: true,
  embeddings: true,
  metadatas: true,
  uris: true,
  distances: true,
  keys: [],
};

export function record(id: string, fields: Partial<WriteRecord> = {}): WriteRecord {
  return { id, embedding: Float32Array.of(1, 2), document: null, uri: null, metadata: null, ...fields };
}

export async function makeCollection(engine: Engine, name = `c-${randomUUID()}`): Promise<CollectionRef> {
  const { id } = await engine.createCollection(parseCreateCollection({ name }, AT));
  return { ...AT, id };
}

export function write(
  engine: Engine,
  ref: CollectionRef,
  kind: WriteKind,
  ...records: readonly WriteRecord[]
): Promise<void> {
  return engine.write(ref, { kind, records });
}

/** Everything of a collection, in insertion order. */
export async function readAll(engine: Engine, ref: CollectionRef): Promise<readonly WriteRecord[]> {
  const request = { ids: null, where: null, limit: null, offset: 0, include: INCLUDE };
  const [records = []] = await listsOf(engine, ref, engine.get(ref, request));
  return records as unknown as readonly WriteRecord[];
}

/** All lists of a read, whole. */
export async function listsOf(
  engine: Engine,
  ref: CollectionRef,
  first: Promise<ResultBatch>,
): Promise<readonly (readonly ResultRecord[])[]> {
  const lists: ResultRecord[][] = [];
  for (let batch = await first; ; batch = await engine.nextBatch(ref, batch.cursor)) {
    for (const [i, records] of batch.lists.entries()) (lists[batch.first + i] ??= []).push(...records);
    if (batch.cursor === null) return lists;
  }
}

export async function idsOf(engine: Engine, ref: CollectionRef): Promise<readonly string[]> {
  return (await readAll(engine, ref)).map(({ id }) => id);
}
