/** `sheaf import qdrant`, by the real command, from recorded answers. */
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { QDRANT_KEY, RecordedQdrant } from "./testing/recorded-qdrant.ts";
import { ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";
import { type EndedCommand, sheafAt } from "./testing/sheaf-command.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const UUID = "98a9a4b1-4ef2-46fb-8315-a97d874fe1d7";

/** Over one page. */
const CITIES = [
  ...Array.from(
    { length: 249 },
    (_, i) => `{"id":${i},"payload":{"n":${i}},"vector":[${i}.5,0.25,-1],"shard_key":null}`,
  ),
  `{"id":"${UUID}","payload":{"document":"London is old.","city":"London","population":8900000,"area":1572.0,"isCapital":true,
    "location":{"lon":-0.1257,"lat":51.5085},"country":{"name":"UK","codes":["GB","GBR"]},"seen":null,"mixed":[1,"a"],
    "parts":[{"name":"Soho"},{"name":"Camden"}],"marks":[1,2.5]},"vector":[0.875,0.140625,0.897599995136261],"shard_key":null}`,
];
const RECORDED = {
  cities: {
    params: '{"vectors":{"size":3,"distance":"Euclid"},"shard_number":1,"replication_factor":1}',
    points: CITIES,
  },
  named: {
    params:
      '{"vectors":{"image":{"size":2,"distance":"Dot"},"text":{"size":3,"distance":"Cosine","on_disk":true}},"sparse_vectors":{"keywords":{"modifier":"idf"}}}',
    points: [
      '{"id":1,"payload":{"a.b":1},"vector":{"image":[1,2],"text":[0.6,0.8,0],"keywords":{"indices":[7,3],"values":[0.5,0.25]}}}',
      '{"id":2,"payload":null,"vector":{"text":[0,0,1]}}',
      '{"id":3,"payload":{"a.b":1,"a":{"b":2}},"vector":{"text":[0,1,0]}}',
    ],
  },
  far: {
    params: '{"vectors":{"size":1,"distance":"Manhattan"}}',
    points: ['{"id":1,"payload":{},"vector":[1]}'],
  },
  late: {
    params: '{"vectors":{"size":1,"distance":"Dot","multivector_config":{"comparator":"max_sim"}}}',
    points: ['{"id":1,"payload":{},"vector":[[1],[2]]}'],
  },
};

let folder: string;
let target: ServedSheaf;
let source: RecordedQdrant;

beforeAll(async () => {
  folder = await temporaryFolder();
  await writeFile(join(folder, "key"), `${QDRANT_KEY}\n`);
  [source, target] = await Promise.all([RecordedQdrant.start(RECORDED), ServedSheaf.start()]);
});
afterAll(async () => {
  source.close();
  await target.dispose();
  await rm(folder, { recursive: true, force: true });
});

function moved(...args: readonly string[]): Promise<EndedCommand> {
  const all = ["import", "qdrant", "--url", source.url, ...args];
  return sheafAt(target.url, all, { cwd: folder, env: { QDRANT_API_KEY: QDRANT_KEY } });
}

interface Described {
  readonly id: string;
  readonly configuration_json: unknown;
  readonly schema: { readonly keys: Readonly<Record<string, unknown>> };
}

const described = (name: string): Promise<Described> => target.ask(`${COLLECTIONS}/${name}`);

async function recordOf(name: string, id: string): Promise<unknown> {
  const { id: collection } = await described(name);
  const include = ["documents", "embeddings", "metadatas"];
  return target.ask(`${COLLECTIONS}/${collection}/get`, { ids: [id], include });
}

describe("sheaf import qdrant", () => {
  it("goes on where it was interrupted, and copies ids, vectors, text and payload", async () => {
    source.scrollsLeft = 1;
    const state = join(folder, "cities.json");
    const args = ["--collection", "cities", "--state", state, "--api-key-file", join(folder, "key")];
    expect((await moved(...args)).code).toBe(1);
    expect(existsSync(state)).toBe(true);
    source.scrollsLeft = Number.POSITIVE_INFINITY;
    expect(await moved(...args)).toMatchObject({
      code: 0,
      output: expect.stringContaining("1 collection with 250 records; all the same on both sides"),
    });
    // The page that was stored before the interruption is not read again.
    expect(source.offsets).toEqual([null, 100, 200]);
    expect(existsSync(state)).toBe(false);
    expect((await described("cities")).configuration_json).toMatchObject({ hnsw: { space: "l2" } });
    expect(await recordOf("cities", UUID)).toMatchObject({
      documents: ["London is old."],
      embeddings: [[0.875, 0.140625, 0.8976]],
      metadatas: [
        {
          ...{ city: "London", population: 8_900_000, area: 1_572, isCapital: true },
          ...{ "location.lon": -0.1257, "location.lat": 51.5085, "country.name": "UK" },
          ...{ "country.codes": ["GB", "GBR"], mixed: '[1,"a"]', marks: [1, 2.5] },
          parts: '[{"name":"Soho"},{"name":"Camden"}]',
        },
      ],
    });
  });

  it("makes a collection of each dense vector, with the sparse ones, and says what it cannot hold", async () => {
    const { code, output } = await moved();
    expect(code).toBe(1);
    expect(output).toContain("named/image: 1 record, checksum");
    expect(output).toContain("named/text: 1 record refused");
    expect(output).toContain("far: its distance is Manhattan, which is not supported");
    expect(output).toContain("late: its points have several vectors under one name");
    expect(await recordOf("named.image", "1")).toMatchObject({
      embeddings: [[1, 2]],
      metadatas: [{ "a.b": 1, keywords: { "#type": "sparse_vector", indices: [3, 7], values: [0.25, 0.5] } }],
    });
    const { schema, configuration_json: configuration } = await described("named.image");
    expect(configuration).toMatchObject({ hnsw: { space: "ip" } });
    expect(schema.keys["keywords"]).toMatchObject({
      sparse_vector: { sparse_vector_index: { enabled: true, config: { bm25: true } } },
    });
    const refused = await readFile(join(folder, "sheaf-import-qdrant.refused.jsonl"), "utf8");
    expect(JSON.parse(refused)).toEqual({
      ...{ collection: "named/text", id: "3" },
      reason: "a.b: is there twice, where members of objects are joined by dots",
    });
  });

  it("copies one vector under the name of the collection, and says what it does not find", async () => {
    const state = ["--state", join(folder, "one.json")];
    const one = await moved("--collection", "named", "--vector", "image", ...state);
    expect(one).toMatchObject({ code: 0, output: expect.stringContaining("1 collection with 1 record") });
    expect(await recordOf("named", "1")).toMatchObject({ ids: ["1"] });
    const none = await moved(
      "--collection",
      "named",
      "--vector",
      "sound",
      "--state",
      join(folder, "none.json"),
    );
    expect(none).toMatchObject({ code: 1, output: "sheaf: named has no dense vector sound\n" });
    const absent = await moved("--collection", "nothing", "--state", join(folder, "absent.json"));
    expect(absent.code).toBe(1);
    expect(absent.output).toContain("/collections/nothing answered 404: ");
  });
});
