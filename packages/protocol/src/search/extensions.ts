/** What requests may ask for that Chroma has not, by the names that clients learn and strict mode refuses. */
import type { CreateCollection } from "../catalog/ast.ts";
import { chunkingOf } from "../catalog/index-plan.ts";
import type { CommitRequest, GetRequest, WriteRequest } from "../records/ast.ts";
import { type SheafError, invalid } from "../errors.ts";
import { itemPath, memberPath } from "../json/json-shape.ts";
import type { SearchRequest } from "./ast.ts";
import { leafPaths } from "./leaf-paths.ts";

/** Those with a slash are routes of a collection, `$` begins a leaf of a rank, `?` a parameter of a query, the others are members of a body. */
export const EXTENSIONS = [
  "order_by",
  "highlight",
  "explain",
  "mmr",
  "chunking",
  "encoding_format",
  "$key",
  "$age",
  "POST /count",
  "POST /facets",
  "POST /search/check",
  "?after",
] as const;

export type ExtensionName = (typeof EXTENSIONS)[number];

/** 400. `path`: where a body asks for it, "" for a route. */
export function extensionRefusal(name: ExtensionName, path = ""): SheafError {
  return invalid(
    path,
    `${name} is an extension of Sheaf, which strict mode refuses (--strict, x-sheaf-strict)`,
  );
}

export function refuseGetExtensions({ orderBy, highlight, encoding }: GetRequest): void {
  if (orderBy !== undefined) throw extensionRefusal("order_by", "order_by");
  if (highlight !== undefined) throw extensionRefusal("highlight", "highlight");
  if (encoding !== undefined) throw extensionRefusal("encoding_format", "encoding_format");
}

export function refuseWriteExtensions({ chunking }: WriteRequest): void {
  if (chunking !== undefined) throw extensionRefusal("chunking", "chunking");
}

export function refuseCommitExtensions({ operations }: CommitRequest): void {
  for (const [i, operation] of operations.entries()) {
    if (operation.kind === "delete" || operation.chunking === undefined) continue;
    throw extensionRefusal("chunking", `${itemPath("operations", i)}.payload.chunking`);
  }
}

/** What a schema says beside is stored and returned, as existing clients expect. */
export function refuseSchemaExtensions({ schema }: CreateCollection): void {
  if (chunkingOf(schema) !== null) throw extensionRefusal("chunking", "schema.chunking");
}

export function refuseSearchExtensions({ searches }: SearchRequest): void {
  for (const [i, { orderBy, highlight, explain, mmr, rank }] of searches.entries()) {
    const asked = { order_by: orderBy, highlight, explain, mmr };
    for (const [name, value] of Object.entries(asked)) {
      if (value !== undefined)
        throw extensionRefusal(name as keyof typeof asked, memberPath(itemPath("searches", i), name));
    }
    if (rank === null) continue;
    for (const { leaf, path } of leafPaths(rank, memberPath(itemPath("searches", i), "rank")))
      if (leaf.type !== "knn") throw extensionRefusal(`$${leaf.type}`, path);
  }
}
