/**
 * What the requests of a fuzz run find on the server: collections to play with, made anew every now and then, and one
 * collection of another tenant that nobody names, whose answers must stay what they were.
 */
import type { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import type { Placeholders } from "./wire-request.ts";

const PLAY_TENANT = "default_tenant";
const PLAY_DATABASE = "default_database";
const FUZZED = { tenant: "fuzzed_tenant", database: "fuzzed_database" };
const KEPT = { tenant: "kept_tenant", database: "kept_database" };
const MODEL = "sentence-transformers/all-MiniLM-L6-v2";
const RECORDS = 40;
/** No model runs for it. */
const WITHOUT_MODEL = null;
const BM25_SCHEMA = {
  keys: {
    bm25: {
      sparse_vector: {
        sparse_vector_index: {
          enabled: true,
          config: {
            source_key: "#document",
            bm25: true,
            embedding_function: { type: "known", name: "chroma_bm25", config: {} },
          },
        },
      },
    },
  },
};

const records = Array.from({ length: RECORDS }, (_, i) => i);
const SAMPLE = {
  ids: records.map((i) => (i === 0 ? "a" : i === 1 ? "b" : `record-${i}`)),
  embeddings: records.map((i) => [i / 7, 1 - i, (i * i) % 11]),
  documents: records.map((i) => `${"a".repeat(i * 20)} text ${i} of the straße`),
  metadatas: records.map((i) => ({
    n: i,
    x: i / 3,
    s: `s${i % 5}`,
    flag: i % 2 === 0,
    tags: ["a", `t${i % 3}`],
  })),
};

export class Playground {
  readonly #served: ServedSheaf;
  #kept: readonly string[] = [];
  #keptPath = "";

  constructor(served: ServedSheaf) {
    this.#served = served;
  }

  /** Loads the model, so that nobody waits for it later; writes what must not change, and remembers what is said of it. */
  async keep(): Promise<void> {
    const headers = { "x-service-embedding-model": MODEL };
    await this.#served.request("/embed", { json: { texts: ["a"], instructions: "" }, headers });
    const path = await this.#collectionsOf(KEPT.tenant, KEPT.database);
    const { id } = await this.#served.ask<{ id: string }>(path, { name: "kept" });
    this.#keptPath = `${path}/${id}`;
    await this.#served.ask(`${this.#keptPath}/add`, SAMPLE);
    this.#kept = await this.#answersOfKept();
  }

  /** Throws where the kept collection answers otherwise than it did. */
  async checkKept(): Promise<void> {
    const now = await this.#answersOfKept();
    for (const [i, text] of this.#kept.entries()) {
      if (text !== now[i]) throw new Error(`the kept collection has changed: ${text} became ${now[i]}`);
    }
  }

  /** Removes every collection and key that requests have made. */
  async clear(): Promise<void> {
    const tenants = await this.#served.ask<{ name: string }[]>("/api/v2/tenants");
    for (const { name } of tenants) {
      if (name === KEPT.tenant) continue;
      if (name === PLAY_TENANT) await this.#empty(`/api/v2/tenants/${name}/databases`);
      else await this.#remove(`/api/v2/tenants/${encodeURIComponent(name)}`);
    }
    const keys = await this.#served.ask<{ id: string }[]>("/api/v2/keys");
    for (const { id } of keys) await this.#remove(`/api/v2/keys/${id}`);
  }

  /** Removes all databases but the one that cannot be removed; of that, all collections. */
  async #empty(databases: string): Promise<void> {
    for (const { name } of await this.#served.ask<{ name: string }[]>(databases)) {
      if (name !== PLAY_DATABASE) await this.#remove(`${databases}/${encodeURIComponent(name)}`);
    }
    const collections = `${databases}/${PLAY_DATABASE}/collections`;
    for (const { name } of await this.#served.ask<{ name: string }[]>(collections)) {
      await this.#remove(`${collections}/${encodeURIComponent(name)}`);
    }
  }

  /** Makes the collections that requests speak of; gives what their placeholders stand for. */
  async furnish(): Promise<Placeholders> {
    const path = await this.#collectionsOf(PLAY_TENANT, PLAY_DATABASE);
    await this.#collectionsOf(FUZZED.tenant, FUZZED.database);
    const make = async (name: string, more: object): Promise<string> =>
      (await this.#served.ask<{ id: string }>(path, { name, get_or_create: true, ...more })).id;
    const plain = { configuration: { embedding_function: WITHOUT_MODEL } };
    const docs = await make("docs", plain);
    const empty = await make("empty", plain);
    const texts = await make("texts", { schema: BM25_SCHEMA });
    await this.#served.ask(`${path}/${docs}/add`, SAMPLE);
    const { read_token: token } = await this.#served.ask<{ read_token: number }>(
      `${path}/${docs}/conditional/get`,
      {},
    );
    const made = await this.#served.ask<{ id: string; key: string }>("/api/v2/keys", {
      name: "fuzzed",
      tenant: FUZZED.tenant,
      scopes: ["read"],
    });
    return { docs, empty, texts, token: String(token), key: made.id, secret: made.key };
  }

  async #answersOfKept(): Promise<readonly string[]> {
    const questions: readonly (readonly [string, object?])[] = [
      ["get", { include: ["documents", "metadatas", "embeddings", "uris"] }],
      ["query", { query_embeddings: [[1, 2, 3]], n_results: 5 }],
      [
        "search",
        {
          searches: [
            { where: { n: { $gt: 10 } }, rank: { $knn: { query: [1, 0, 0] } }, limit: { limit: 7 } },
          ],
        },
      ],
      ["count"],
    ];
    const answers: string[] = [];
    for (const [what, body] of questions) {
      answers.push(JSON.stringify(await this.#served.ask(`${this.#keptPath}/${what}`, body)));
    }
    return answers;
  }

  /** Makes tenant and database where they are not; gives the path of the collections. */
  async #collectionsOf(tenant: string, database: string): Promise<string> {
    await this.#ensure("/api/v2/tenants", tenant);
    await this.#ensure(`/api/v2/tenants/${tenant}/databases`, database);
    return `/api/v2/tenants/${tenant}/databases/${database}/collections`;
  }

  async #ensure(path: string, name: string): Promise<void> {
    const { status } = await this.#served.request(path, { json: { name } });
    if (status !== 200 && status !== 409) throw new Error(`${path}: ${status} for ${name}`);
  }

  async #remove(path: string): Promise<void> {
    const response = await this.#served.request(path, { method: "DELETE" });
    if (!response.ok) throw new Error(`DELETE ${path}: ${response.status} ${await response.text()}`);
  }
}
