/** Every status of the routes of tenants, databases and collections, and of the schemas that describe collections. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { refusal, refused } from "./testing/refusal.ts";
import { DATABASE, newCollection, type Question } from "./testing/wire.ts";

const NOBODY = "00000000-0000-4000-8000-000000000000";

let served: ServedSheaf;
/** Path of the collection `known`. */
let known: string;

beforeAll(async () => {
  served = await ServedSheaf.start();
  known = await newCollection(served, { name: "known" });
  await newCollection(served, { name: "other" });
});

afterAll(async () => {
  await served.dispose();
});

describe("tenants, databases and collections", () => {
  const tenants = "/api/v2/tenants";
  const collections = `${DATABASE}/collections`;
  const create = (json: object): Question => ({ path: collections, json: { name: "fresh", ...json } });
  const update = (json: object) => (): Question => ({ method: "PUT", path: known, json });

  it.each<[string, Question | (() => Question), number, RegExp]>([
    [
      "a tenant that exists",
      { path: tenants, json: { name: "default_tenant" } },
      409,
      /^Tenant \[default_tenant\] already exists/u,
    ],
    ["a tenant name too short", { path: tenants, json: { name: "no" } }, 400, /^name: /u],
    ["a tenant without a name", { path: tenants, json: {} }, 422, /^name: /u],
    ["an unknown tenant", { path: `${tenants}/nobody` }, 404, /^Tenant \[nobody\] not found/u],
    [
      "a database that exists",
      { path: `${tenants}/default_tenant/databases`, json: { name: "default_database" } },
      409,
      /^Database \[default_database\] already exists/u,
    ],
    [
      "a database in an unknown tenant",
      { path: `${tenants}/nobody/databases`, json: { name: "books" } },
      404,
      /nobody/u,
    ],
    [
      "a database name with two periods",
      { path: `${tenants}/default_tenant/databases`, json: { name: "a..b" } },
      400,
      /two consecutive periods/u,
    ],
    [
      "an unknown database",
      { path: `${tenants}/default_tenant/databases/nothing` },
      404,
      /^Database \[nothing\] not found/u,
    ],
    [
      "a database name too short",
      { path: `${tenants}/default_tenant/databases/no` },
      400,
      /database: .*at least 3/u,
    ],
    ["deleting the default tenant", { method: "DELETE", path: `${tenants}/default_tenant` }, 409, /./u],
    [
      "deleting the default database",
      { method: "DELETE", path: `${tenants}/default_tenant/databases/default_database` },
      409,
      /default_database/u,
    ],
    [
      "deleting an unknown database",
      { method: "DELETE", path: `${tenants}/default_tenant/databases/nothing` },
      404,
      /nothing/u,
    ],
    [
      "a collection that exists",
      { path: collections, json: { name: "known" } },
      409,
      /^Collection \[known\] already exists/u,
    ],
    [
      "an unknown collection by name",
      { path: `${collections}/nothing` },
      404,
      /^Collection \[nothing\] does not exist/u,
    ],
    ["deleting an unknown collection", { method: "DELETE", path: `${collections}/nothing` }, 404, /nothing/u],
    ["an unknown collection by id", { path: `${collections}/by-id/${NOBODY}` }, 404, /./u],
    ["an id that is none", { path: `${collections}/by-id/not-an-id` }, 400, /UUID/u],
    [
      "records of an unknown collection",
      { path: `${collections}/${NOBODY}/get`, json: {} },
      404,
      /does not exist/u,
    ],
    ["records of an id that is none", { path: `${collections}/not-an-id/get`, json: {} }, 400, /UUID/u],
    [
      "a collection in an unknown database",
      { path: `${tenants}/default_tenant/databases/nothing/collections`, json: { name: "fresh" } },
      400,
      /nothing/u,
    ],
    ["a collection name that is an address", create({ name: "1.2.3.4" }), 400, /valid ip address/u],
    ["empty metadata", create({ metadata: {} }), 400, /^metadata: .*empty/u],
    ["metadata that is null inside", create({ metadata: { a: null } }), 422, /^metadata.*a/u],
    ["a reserved metadata key", create({ metadata: { "#x": 1 } }), 400, /'#' or '\$'|#x/u],
    [
      "an unknown space",
      create({ configuration: { hnsw: { space: "manhattan" } } }),
      422,
      /^configuration\.hnsw\.space: /u,
    ],
    ["two kinds of index", create({ configuration: { hnsw: {}, spann: {} } }), 400, /./u],
    ["a bad legacy key", create({ metadata: { "hnsw:space": "manhattan" } }), 400, /hnsw:space/u],
    ["an unknown legacy key", create({ metadata: { "hnsw:nothing": 1 } }), 400, /hnsw:nothing/u],
    ["a name that is taken", update({ new_name: "other" }), 409, /^Collection \[other\] already exists/u],
    ["new metadata that is empty", update({ new_metadata: {} }), 400, /^new_metadata: /u],
    [
      "a space that would change",
      update({ new_configuration: { hnsw: { space: "ip" } } }),
      422,
      /^new_configuration\.hnsw\.space: /u,
    ],
  ])("%s", async (_, row, status, message) => {
    const question = typeof row === "function" ? row() : row;
    expect(await refusal(served, question)).toEqual(refused(status, message));
  });
});

describe("schemas", () => {
  const vector = (config: object, enabled = true) => ({ float_list: { vector_index: { enabled, config } } });
  const sparse = (config: object) => ({ sparse_vector: { sparse_vector_index: { enabled: true, config } } });
  const fullText = { string: { fts_index: { enabled: true, config: {} } } };

  it.each<[string, object, number, RegExp]>([
    [
      "full text by default",
      { schema: { defaults: fullText, keys: {} } },
      400,
      /only be enabled on #document/u,
    ],
    ["full text on another key", { schema: { defaults: {}, keys: { k: fullText } } }, 400, /#document/u],
    ["a reserved key", { schema: { defaults: {}, keys: { "#foo": {} } } }, 400, /reserved/u],
    [
      "a vector index on another key",
      { schema: { defaults: {}, keys: { k: vector({}) } } },
      400,
      /#embedding/u,
    ],
    ["a vector index by default", { schema: { defaults: vector({}), keys: {} } }, 400, /by default/u],
    ["a sparse index by default", { schema: { defaults: sparse({}), keys: {} } }, 400, /by default/u],
    [
      "a source without a function",
      { schema: { defaults: {}, keys: { k: sparse({ source_key: "t" }) } } },
      400,
      /embedding_function|source_key/u,
    ],
    [
      "an unknown field",
      { schema: { defaults: {}, keys: { "#embedding": vector({ nothing: 1 }) } } },
      422,
      /nothing/u,
    ],
    [
      "hnsw and spann",
      { schema: { defaults: {}, keys: { "#embedding": vector({ hnsw: {}, spann: {} }) } } },
      400,
      /./u,
    ],
    [
      "a configuration beside it",
      { configuration: { hnsw: { space: "ip" } }, schema: { defaults: {}, keys: { k: sparse({}) } } },
      400,
      /both collection config and schema/u,
    ],
  ])("%s", async (_, body, status, message) => {
    const question = { path: `${DATABASE}/collections`, json: { name: "fresh", ...body } };
    expect(await refusal(served, question)).toEqual(refused(status, message));
  });
});
