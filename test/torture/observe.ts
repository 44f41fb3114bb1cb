/** Reads what the server has, of all writers or of one, and holds every record and every count to its own rules. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Holding, type IssuedKey, type OwnCollection, type OwnKey, type Variant } from "./holding.ts";
import { BASE, BASE_RECORDS } from "./base-records.ts";
import { COLLECTIONS, IDENTITY, KEYS, SHARED, SHARED_NAMES } from "./routes.ts";
import { type RecordMetadata, type TortureRecord, canonicalRecord, makeRecord } from "./torture-record.ts";
import type { Answer, Request, Target } from "./tortured-server.ts";
import { Violation } from "./violation.ts";

/** The engine is restarting, or the gateway is gone: nothing can be said now. */
export class NoAnswer extends Error {
  readonly outcome: Exclude<Answer["outcome"], "answered">;

  constructor(outcome: Exclude<Answer["outcome"], "answered">, request: Request) {
    super(`${request.method} ${request.path}: ${outcome}`);
    this.name = "NoAnswer";
    this.outcome = outcome;
  }
}

export interface SeenCollection {
  readonly id: string;
  readonly name: string;
  readonly variant: Variant;
  readonly mark: number;
  /** In insertion order. */
  readonly records: readonly TortureRecord[];
}

interface SeenKey {
  readonly id: string;
  readonly name: string;
  readonly replaced_by: string | null;
}

export interface ServerState {
  readonly collections: readonly SeenCollection[];
  readonly keys: readonly SeenKey[];
  /** Those of the secrets asked for that the server takes. */
  readonly taken: ReadonlySet<string>;
}

interface CollectionReply {
  readonly id: string;
  readonly name: string;
  readonly dimension: number | null;
  readonly metadata: { readonly mark: number } | null;
  readonly configuration_json: { readonly hnsw: { readonly space: string; readonly ef_search: number } };
  readonly schema: { readonly keys: Readonly<Record<string, KeySchema>> };
}

interface KeySchema {
  readonly sparse_vector?: {
    readonly sparse_vector_index?: { readonly enabled: boolean; readonly config: { readonly bm25: boolean } };
  };
}

interface Columns {
  readonly ids: readonly string[];
  readonly embeddings: readonly (readonly number[])[];
  readonly documents: readonly (string | null)[];
  readonly metadatas: readonly (RecordMetadata | null)[];
}

/** Where a collection is closed for a moment, because of a damaged index file. */
const AGAIN_MS = 100;
const MOST_TRIES = 100;
/** Longer than a purge takes to copy a file. */
const TRASH_MS = 10_000;

/** Asks and expects a success. */
export async function ask<T>(server: Target, request: Request): Promise<T> {
  let answer = await server.send(request);
  for (
    let tries = 0;
    server.isInterrupted && answer.outcome === "unavailable" && tries < MOST_TRIES;
    tries++
  ) {
    await sleep(AGAIN_MS);
    answer = await server.send(request);
  }
  if (answer.outcome !== "answered") throw new NoAnswer(answer.outcome, request);
  if (answer.status >= 300) {
    throw new Violation(`${request.method} ${request.path}: ${answer.status}`, [JSON.stringify(answer.body)]);
  }
  return answer.body as T;
}

export interface Glance {
  /** The only writer to look after; `null`: all. */
  readonly owner: string | null;
  /** Keys to try. */
  readonly secrets: Iterable<string>;
  /** Reads the records that nobody changes too; else they are only counted. */
  readonly base?: boolean;
}

/** Everything of one writer, or of all. */
export async function observe(
  server: Target,
  { owner, secrets, base = false }: Glance,
): Promise<ServerState> {
  const isOwn = (name: string): boolean => owner === null || name.startsWith(`${owner}-`);
  const [listed, keys, taken] = await Promise.all([
    ask<CollectionReply[]>(server, { method: "GET", path: COLLECTIONS }),
    ask<SeenKey[]>(server, { method: "GET", path: KEYS }),
    takenOf(server, secrets),
  ]);
  const wanted = listed.filter(({ name }) => isOwn(name) || SHARED_NAMES.includes(name));
  const collections = await Promise.all(
    wanted.map((reply) => readCollection(server, reply, { owner: isOwn(reply.name) ? null : owner, base })),
  );
  return { collections, keys: keys.filter(({ name }) => isOwn(name)), taken };
}

/** The part of a state that is a writer's, in the form of its log. */
export function holdingOf({ collections, keys }: ServerState, owner: string): Holding {
  const own = collections.filter(({ name }) => name.startsWith(`${owner}-`));
  const shared = collections.filter(({ name }) => SHARED_NAMES.includes(name));
  const ownKeys = keys.filter(({ name }) => name.startsWith(`${owner}-`));
  return {
    collections: new Map(own.map((collection) => [collection.name, toOwn(collection)])),
    shared: new Map(
      shared.map(({ name, records }) => [
        name,
        noncesOf(records.filter(({ metadata }) => metadata.owner === owner)),
      ]),
    ),
    keys: new Map([...new Set(ownKeys.map(({ name }) => name))].map((name) => [name, toKey(name, ownKeys)])),
    revoked: [],
  };
}

/** Folders of collections that no catalog entry leads to, and what a drop left behind. */
export async function checkFolders(data: string, { collections }: ServerState): Promise<void> {
  const root = join(data, "collections");
  const prefixes = await readdir(root).catch(() => []);
  const folders = (await Promise.all(prefixes.map((prefix) => readdir(join(root, prefix))))).flat();
  const known = new Set(collections.map(({ id }) => id));
  const left = folders.filter((id) => !known.has(id));
  const trash = await staysInTrash(data);
  if (left.length + trash.length === 0) return;
  throw new Violation("files of collections that do not exist", [...left, ...trash]);
}

/** A copy that a purge makes is there for a moment. */
async function staysInTrash(data: string): Promise<readonly string[]> {
  const look = (): Promise<readonly string[]> => readdir(join(data, "trash")).catch(() => []);
  let staying = await look();
  for (const until = performance.now() + TRASH_MS; staying.length > 0; await sleep(20)) {
    const now = await look();
    staying = staying.filter((name) => now.includes(name));
    if (performance.now() > until) return staying;
  }
  return staying;
}

async function takenOf(server: Target, secrets: Iterable<string>): Promise<ReadonlySet<string>> {
  const taken = new Set<string>();
  await Promise.all(
    [...secrets].map(async (key) => {
      const request = { method: "GET", path: IDENTITY, key };
      const answer = await server.send(request);
      if (answer.outcome !== "answered") throw new NoAnswer(answer.outcome, request);
      if (answer.status === 200) taken.add(key);
      else if (answer.status !== 401) throw new Violation(`a key is answered with ${answer.status}`);
    }),
  );
  return taken;
}

async function readCollection(
  server: Target,
  reply: CollectionReply,
  { owner, base }: { readonly owner: string | null; readonly base: boolean },
): Promise<SeenCollection> {
  const { id, name, metadata, configuration_json, schema } = reply;
  const include = ["embeddings", "documents", "metadatas"];
  const path = `${COLLECTIONS}/${id}`;
  const isBaseLeft = owner === null && name === SHARED.large && !base;
  const where = isBaseLeft ? { owner: { $ne: BASE } } : owner === null ? null : { owner };
  const [columns, count] = await Promise.all([
    ask<Columns>(server, {
      method: "POST",
      path: `${path}/get`,
      json: { include, where },
    }),
    ask<number>(server, { method: "GET", path: `${path}/count` }),
  ]);
  const read = toRecords(name, columns);
  const records = isBaseLeft ? [...BASE_RECORDS, ...read] : read;
  if (owner === null && count !== records.length) {
    throw new Violation(`${name}: count says ${count}, get gives ${records.length}`);
  }
  const { space, ef_search: mark } = configuration_json.hnsw;
  if (metadata?.mark !== mark) {
    throw new Violation(`${name}: half a change: metadata ${metadata?.mark}, configuration ${mark}`);
  }
  await checkLearnt(server, reply, records.length);
  return { id, name, variant: variantOf(space, schema.keys["terms"]), mark, records };
}

/**
 * What first records teach the catalog is there before they are acknowledged. Where the engine died over them it is
 * there once the collection has been opened, which reading it does; so it is asked for again.
 */
async function checkLearnt(server: Target, listed: CollectionReply, size: number): Promise<void> {
  if (size === 0 || lacking(listed).length === 0) return;
  const path = `${COLLECTIONS}/by-id/${listed.id}`;
  const lacks = lacking(await ask<CollectionReply>(server, { method: "GET", path }));
  if (lacks.length === 0) return;
  throw new Violation(`${listed.name} has ${size} records, and its entry lacks what they taught`, lacks);
}

function lacking({ dimension, schema }: CollectionReply): string[] {
  const keys = ["n", "owner", "tag", "terms"].filter((key) => !Object.hasOwn(schema.keys, key));
  return [...keys.map((key) => `the key ${key}`), ...(dimension === null ? ["the dimension"] : [])];
}

function toRecords(name: string, { ids, embeddings, documents, metadatas }: Columns): TortureRecord[] {
  if (new Set(ids).size !== ids.length) {
    throw new Violation(`${name}: ids twice`, [ids.filter((id, i) => ids.indexOf(id) !== i).join(", ")]);
  }
  return ids.map((id, row) => {
    const [embedding, document, metadata] = [
      embeddings[row] ?? null,
      documents[row] ?? null,
      metadatas[row] ?? null,
    ];
    if (embedding === null || document === null || metadata === null) {
      throw new Violation(`${name}: record ${id} lacks a part`);
    }
    const [found, expected] = [{ id, embedding, document, metadata }, makeRecord(id, metadata.n)];
    const [server, log] = [canonicalRecord(found), canonicalRecord(expected)];
    if (server !== log) {
      throw new Violation(`${name}: a record that nobody wrote`, [`server: ${server}`, `nonce's: ${log}`]);
    }
    return expected;
  });
}

function variantOf(space: string, terms: KeySchema | undefined): Variant {
  const index = terms?.sparse_vector?.sparse_vector_index;
  const sparse = index?.enabled !== true ? "plain" : index.config.bm25 ? "bm25" : "sparse";
  return `${sparse} ${space}` as Variant;
}

function toOwn({ id, variant, mark, records }: SeenCollection): OwnCollection {
  return { id, variant, mark, isFork: false, records: noncesOf(records) };
}

function noncesOf(records: readonly TortureRecord[]): ReadonlyMap<string, number> {
  return new Map(records.map(({ id, metadata }) => [id, metadata.n]));
}

/** The newest key of a name and the one that it was rotated from. */
function toKey(name: string, keys: readonly SeenKey[]): OwnKey {
  const named = keys.filter((key) => key.name === name);
  const current = named.filter(({ replaced_by }) => replaced_by === null);
  const old = named.filter(({ replaced_by }) => replaced_by !== null);
  const [only] = current;
  if (
    only === undefined ||
    current.length > 1 ||
    old.length > 1 ||
    old.some((key) => key.replaced_by !== only.id)
  ) {
    throw new Violation(
      `key ${name}: a half rotation, or made twice`,
      named.map((key) => JSON.stringify(key)),
    );
  }
  const toIssued = ({ id }: SeenKey): IssuedKey => ({ id, secret: null });
  return { ...toIssued(only), old: old[0] === undefined ? null : toIssued(old[0]) };
}
