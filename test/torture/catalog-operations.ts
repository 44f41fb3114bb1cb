/** Collections come, change and go, again and again under the same few names. */
import { type Holding, type OwnCollection, VARIANTS, type Variant, withCollection } from "./holding.ts";
import type { Desk, Operation } from "./operation.ts";
import { COLLECTIONS } from "./routes.ts";

const NAMES = ["a", "b", "c", "d"];
const RENAME_SHARE = 0.3;
/** Of the writers' own collections, those that are in partitions where the server divides any. */
const DIVIDED: Variant = "sparse ip";
/** As many values as `ef_search` may well take. */
const MARKS = 900;

/** Body that makes a collection; its mark lies in metadata and configuration. */
export function collectionBody(name: string, variant: Variant, mark: number, partitions = 1): object {
  const [sparse = "", space = ""] = variant.split(" ");
  const metadata = { mark };
  if (sparse === "plain") return { name, metadata, configuration: { hnsw: { space, ef_search: mark } } };
  const vectorIndex = { enabled: true, config: { space, hnsw: { ef_search: mark } } };
  const sparseIndex = { enabled: true, config: { bm25: sparse === "bm25" } };
  const keys = {
    "#embedding": { float_list: { vector_index: vectorIndex } },
    terms: { sparse_vector: { sparse_vector_index: sparseIndex } },
  };
  const divided = partitions === 1 ? {} : { partitions };
  return { name, metadata, schema: { defaults: {}, keys, ...divided } };
}

/** `null`: the writer has all the collections it may have. */
export function createCollection(desk: Desk): Operation | null {
  const { choices, holding } = desk;
  const name = freeName(desk);
  if (name === null) return null;
  const variant = choices.one(VARIANTS);
  const mark = nextMark(desk);
  const partitions = variant === DIVIDED ? desk.partitions : 1;
  const collection = { variant, mark, isFork: false, records: new Map<string, number>() };
  return {
    kind: "create collection",
    request: { method: "POST", path: COLLECTIONS, json: collectionBody(name, variant, mark, partitions) },
    refused: null,
    after: (reply) => withCollection(holding, name, { ...collection, id: idOf(reply) }),
  };
}

/** Under a name that is taken. */
export function createTwice(desk: Desk, name: string): Operation {
  const json = collectionBody(name, "plain l2", nextMark(desk));
  return {
    kind: "create collection",
    request: { method: "POST", path: COLLECTIONS, json },
    refused: 409,
    after: () => desk.holding,
  };
}

export function dropCollection({ holding }: Desk, name: string): Operation {
  return {
    kind: "drop collection",
    request: { method: "DELETE", path: `${COLLECTIONS}/${name}` },
    refused: null,
    after: () => withCollection(holding, name, null),
  };
}

/** Of a collection that is gone, by the name it had. */
export function dropTwice(desk: Desk): Operation | null {
  const name = freeName(desk);
  if (name === null) return null;
  return { ...dropCollection(desk, name), refused: 404, after: () => desk.holding };
}

/** `null`: no free name. Forks are not forked again, so that no tree of forks reaches its limit. */
export function forkCollection(desk: Desk, name: string): Operation | null {
  const { collection, path } = existing(desk, name);
  const to = freeName(desk);
  if (to === null || collection.isFork) return null;
  return {
    kind: "fork",
    request: { method: "POST", path: `${path}/fork`, json: { new_name: to } },
    refused: null,
    after: (reply) => withCollection(desk.holding, to, { ...collection, id: idOf(reply), isFork: true }),
  };
}

/** Metadata, configuration and sometimes the name, in one change. */
export function modifyCollection(desk: Desk, name: string): Operation {
  const { collection, path } = existing(desk, name);
  const mark = nextMark(desk);
  const to = (desk.choices.chance(RENAME_SHARE) ? freeName(desk) : null) ?? name;
  const json = {
    new_metadata: { mark },
    new_configuration: { hnsw: { ef_search: mark } },
    ...(to === name ? {} : { new_name: to }),
  };
  return {
    kind: "modify",
    request: { method: "PUT", path, json },
    refused: null,
    after: (): Holding =>
      withCollection(withCollection(desk.holding, name, null), to, { ...collection, mark }),
  };
}

function existing({ holding }: Desk, name: string): { collection: OwnCollection; path: string } {
  const collection = holding.collections.get(name);
  if (collection === undefined || collection.id === null) throw new Error(`${name} has no id to ask for`);
  return { collection, path: `${COLLECTIONS}/${collection.id}` };
}

function freeName({ owner, choices, holding }: Desk): string | null {
  const free = NAMES.map((name) => `${owner}-${name}`).filter((name) => !holding.collections.has(name));
  return free.length === 0 ? null : choices.one(free);
}

function nextMark({ nextNonce }: Desk): number {
  return 1 + (nextNonce() % MARKS);
}

function idOf(reply: unknown): string | null {
  return reply === null ? null : (reply as { id: string }).id;
}
