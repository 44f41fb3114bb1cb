/** Bounds of names, collections, forks and keys. */
import { type LimitName, parseCreateCollection } from "@sheaf/protocol";
import { COLLECTIONS } from "../../../packages/server/src/testing/test-app.ts";
import { Bench, type CaseOf, bySize, called, times, toServer } from "./limit-case.ts";

const TENANTS = "POST /api/v2/tenants";
const AT = { tenant: "default_tenant", database: "default_database" };
const KEYS = "POST /api/v2/keys";
const MAKE = `POST ${COLLECTIONS}`;
const KEY = { name: "k", tenant: null, scopes: ["read"] };

export const CATALOG_CASES = {
  tenantNameBytesMin: bySize(
    (bench, size) => bench.send(TENANTS, { json: { name: "t".repeat(size) } }),
    /^name/u,
    -1,
  ),
  tenantNameBytes: toServer(TENANTS, /^name/u, (size) => ({ name: "t".repeat(size) })),
  nameCharactersMin: bySize(
    (bench, size) => bench.send(MAKE, { json: { name: "c".repeat(size) } }),
    /name/u,
    -1,
  ),
  nameCharacters: toServer(MAKE, /name/u, (size) => ({ name: "c".repeat(size) })),
  configurationBytes: toServer(MAKE, /^configuration/u, (size) => ({
    name: `configured-${size}`,
    configuration: ofBytes(size),
  })),
  collectionMetadataBytes: toServer(MAKE, /^metadata/u, (size) => ({
    name: `with-metadata-${size}`,
    metadata: ofBytes(size),
  })),
  listBytes: bySize(async (bench, size) => {
    const list = await listOfBytes(bench, size);
    return bench.send(`GET ${list}`, {});
  }, /^limit: /u),
  schemaKeys: toServer(MAKE, /^schema\.keys/u, (size) => ({
    name: `keyed-${size}`,
    schema: { keys: Object.fromEntries(times(size, (i) => [`key-${i}`, {}])) },
  })),
  // A server without a database refuses all but one.
  partitions: bySize(
    (_bench, partitions) =>
      called(() => parseCreateCollection({ name: "divided", schema: { partitions } }, AT)),
    /^schema\.partitions/u,
  ),
  forkEdges: bySize(async (bench, size) => {
    const path = await bench.collection();
    for (let i = 1; i < size; i++)
      await bench.ask(`POST ${path}/fork`, { json: { new_name: `f${size}-${i}` } });
    return bench.send(`POST ${path}/fork`, { json: { new_name: `f${size}-last` } });
  }, /^Quota exceeded: .*fork/u),
  keyNameCharacters: toServer(KEYS, /^name/u, (size) => ({ ...KEY, name: "k".repeat(size) })),
  keyOverlapSeconds: bySize(async (bench, size) => {
    const { id } = await bench.ask<{ id: string }>(KEYS, { json: KEY });
    const rotated = await bench.send(`POST /api/v2/keys/${id}/rotate`, { json: { overlap_seconds: size } });
    await bench.ask(`DELETE /api/v2/keys/${id}`);
    return rotated;
  }, /^overlap_seconds/u),
} satisfies { readonly [name in LimitName]?: CaseOf };

/** An object that is so long as JSON. */
function ofBytes(size: number): object {
  const empty = JSON.stringify({ unheard_of: "" }).length;
  return { unheard_of: "x".repeat(size - empty) };
}

/**
 * Path of a database's collections, whose list is so long. Made through the engine: it takes two, with more metadata than
 * requests may have.
 */
async function listOfBytes(bench: Bench, size: number): Promise<string> {
  const half = Math.floor(size / 2);
  const at = { tenant: "default_tenant", database: `listed-${size}` };
  const app = await bench.app();
  const make = async (name: string, characters: number): Promise<void> => {
    const metadata = new Map([["k", "x".repeat(characters)]]);
    await app.engine.createCollection({ ...parseCreateCollection({ name }, at), metadata });
  };
  await app.engine.createDatabase(at);
  const list = `/api/v2/tenants/${at.tenant}/databases/${at.database}/collections`;
  await make("first", half);
  const { text } = await app.ask(`GET ${list}`);
  // Both are equally long but for their text; one comma is between them.
  const around = text.length - "[]".length - half;
  await make("other", size - "[,]".length - 2 * around - half);
  return list;
}
