/** Goes through the collections of a Qdrant server, and makes one at Sheaf for each of their dense vectors. */
import { rmSync } from "node:fs";
import type { Schema, SheafClient, Space } from "@sheaf/client";
import { SheafError } from "@sheaf/protocol";
import { databasePath } from "../chroma/chroma-source.ts";
import type { CopySource, SourcePage } from "../copy/copy-collection.ts";
import { copyWithState } from "../copy/copy-with-state.ts";
import type { ImportState } from "../copy/import-state.ts";
import { type PointChoice, type PointRecord, pointRecord } from "./point-record.ts";
import type { PointPage, QdrantCollection, QdrantSource, VectorParams } from "./qdrant-source.ts";

export interface QdrantImport {
  readonly source: QdrantSource;
  /** In the tenant and database of the collections. */
  readonly client: SheafClient;
  readonly tenant: string;
  readonly database: string;
  readonly state: ImportState;
  /** Only this collection, only this dense vector. */
  readonly collection: string | undefined;
  readonly vector: string | undefined;
  readonly documentKey: string;
  readonly tell: (line: () => string) => void;
}

const SPACES: Readonly<Record<string, Space>> = { Cosine: "cosine", Euclid: "l2", Dot: "ip" };

/** The state says how it went. Throws where going on makes no sense; a later run then continues. */
export async function importQdrant(run: QdrantImport): Promise<void> {
  if (run.state.isNew) rmSync(run.state.refusals, { force: true });
  const names = run.collection === undefined ? await run.source.collections() : [run.collection];
  for (const name of names) {
    const described = await run.source.describe(name);
    const vectors = Object.entries(described.vectors);
    const chosen = vectors.filter(([vector]) => run.vector === undefined || vector === run.vector);
    if (run.collection !== undefined && chosen.length === 0)
      throw new SheafError("not_found", `${name} has no dense vector ${run.vector ?? "at all"}`);
    // Those of other collections have other vectors, perhaps.
    for (const [vector, params] of chosen.length === 0 ? [["", null] as const] : chosen)
      await copyOne(run, described, {
        vector,
        params,
        isOneOfSeveral: vectors.length > 1 && run.vector === undefined,
      });
  }
  run.state.finish();
}

interface ChosenVector {
  readonly vector: string;
  readonly params: VectorParams | null;
  readonly isOneOfSeveral: boolean;
}

async function copyOne(
  run: QdrantImport,
  described: QdrantCollection,
  { vector, params, isOneOfSeveral }: ChosenVector,
): Promise<void> {
  const { source, client, state, tell, tenant, database, documentKey } = run;
  const from = vector === "" ? described.name : `${described.name}/${vector}`;
  const name = isOneOfSeveral ? `${described.name}.${vector}` : described.name;
  const choice = { vector, sparse: Object.keys(described.sparseVectors), documentKey };
  await copyWithState({
    ...{ client, state, tell, from },
    id: JSON.stringify([described.name, vector]),
    to: [tenant, database, name].join("/"),
    source: copySource(source, described.name, choice),
    async makeTarget() {
      const schema = schemaOf(described, params);
      const { id } = await client.createCollection({ name, schema, getOrCreate: true });
      return `${databasePath(tenant, database)}/collections/${id}`;
    },
  });
}

/** @throws SheafError `failed_precondition` for what no collection here can hold. */
function schemaOf({ sparseVectors }: QdrantCollection, params: VectorParams | null): Schema {
  const space = params === null ? undefined : SPACES[params.distance];
  if (params === null) throw notHere("it has no dense vectors of that name, and records need one");
  if (params.multivector_config !== undefined && params.multivector_config !== null)
    throw notHere("its points have several vectors under one name, which is not supported");
  if (space === undefined) throw notHere(`its distance is ${params.distance}, which is not supported`);
  const sparse = Object.entries(sparseVectors).map(([key, { modifier }]) => {
    const config = modifier === "idf" ? { bm25: true } : {};
    return [key, { sparse_vector: { sparse_vector_index: { enabled: true, config } } }] as const;
  });
  return {
    defaults: {},
    keys: {
      "#embedding": { float_list: { vector_index: { enabled: true, config: { space } } } },
      ...Object.fromEntries(sparse),
    },
  };
}

function notHere(why: string): SheafError {
  return new SheafError("failed_precondition", why);
}

function copySource(source: QdrantSource, name: string, choice: PointChoice): CopySource {
  return {
    async page({ cursor }) {
      // A page before was the last one.
      if (cursor === null) return null;
      const { points, next } = await source.points(name, (cursor as PointPage["next"] | undefined) ?? null);
      return pageOf(points, next, choice);
    },
    count: () => source.count(name),
  };
}

function pageOf(points: PointPage["points"], next: PointPage["next"], choice: PointChoice): SourcePage {
  const records: PointRecord[] = [];
  const refused: { readonly id: string; readonly reason: string }[] = [];
  let absent = 0;
  for (const point of points) {
    const record = pointRecord(point, choice);
    if (record === null) absent += 1;
    else if (typeof record === "string") refused.push({ id: String(point.id), reason: record });
    else records.push(record);
  }
  return {
    ids: records.map(({ id }) => id),
    embeddings: records.map(({ embedding }) => embedding),
    documents: records.map(({ document }) => document),
    metadatas: records.map(({ metadata }) => metadata),
    ...{ refused, absent, cursor: next },
  };
}
