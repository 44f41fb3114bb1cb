/** What is to be said of a collection in a line each; its schema and configuration say all of it. */
import type { CollectionInfo } from "@sheaf/client";
import { isObject } from "../parts/json-text.ts";
import { number } from "../parts/format.ts";

export type Fact = readonly [name: string, value: string];

export function factsOf({ id, dimension, schema, configuration }: CollectionInfo): readonly Fact[] {
  const keys = Object.entries(schema.keys ?? {});
  const dense = schema.keys?.["#embedding"]?.float_list?.vector_index?.config;
  const sparse = keys.flatMap(([key, { sparse_vector }]) => {
    const index = sparse_vector?.sparse_vector_index;
    return index?.enabled === true ? [`${key} (${modelOf(index.config?.embedding_function)})`] : [];
  });
  const fields = keys.flatMap(([key, types]) =>
    key.startsWith("#") || types.sparse_vector !== undefined ? [] : [key],
  );
  return [
    ["Id", id],
    ["Dimension", dimension === null ? "that of the first vector" : number(dimension)],
    ["Metric", dense?.space ?? spaceOf(configuration.hnsw) ?? spaceOf(configuration.spann) ?? "l2"],
    ["Dense vectors", modelOf(dense?.embedding_function ?? configuration.embedding_function)],
    ["Sparse indexes", sparse.length === 0 ? "none" : sparse.join(", ")],
    ["Metadata keys", fields.length === 0 ? "none yet" : fields.join(", ")],
    ["Documents are cut", cutOf(schema.chunking)],
  ];
}

function modelOf(embeddingFunction: unknown): string {
  if (!isObject(embeddingFunction) || embeddingFunction["type"] !== "known") return "records bring them";
  const { config, name } = embeddingFunction;
  const model = isObject(config) ? (config["model"] ?? config["model_name"]) : null;
  return typeof model === "string" ? model : String(name);
}

function spaceOf(index: object | null | undefined): string | null {
  const space = isObject(index) ? index["space"] : null;
  return typeof space === "string" ? space : null;
}

function cutOf(chunking: CollectionInfo["schema"]["chunking"]): string {
  if (chunking === undefined || chunking.by === "none") return "not at all";
  const { by, size, overlap } = chunking;
  const parts = [`by ${by}`];
  if (size !== undefined) parts.push(`into ${number(size)} tokens at most`);
  if (overlap !== undefined && overlap > 0) parts.push(`${number(overlap)} of them in both`);
  return parts.join(", ");
}
