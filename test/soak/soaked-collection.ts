/** A collection under steady traffic whose every record is known: as many are removed as are added. */
import { setTimeout as sleep } from "node:timers/promises";
import { COLLECTIONS } from "../damage/testing/known-collection.ts";
import type { ServedSheaf } from "../e2e/testing/served-sheaf.ts";

const DIMENSION = 384;
const TOPICS = 20;
/** Within it, what a server puts off is asked again. */
const PATIENCE_MS = 60_000;

interface KnownRecord {
  readonly version: number;
}

export interface SoakedOptions {
  readonly served: ServedSheaf;
  readonly name: string;
  readonly random: () => number;
  /** The server has put a request off. */
  readonly onPutOff: () => void;
}

export class SoakedCollection {
  readonly name: string;
  readonly #options: SoakedOptions;
  readonly #path: string;
  /** In the order in which they were added. */
  readonly #records: Map<string, KnownRecord>;
  #next: number;

  private constructor(options: SoakedOptions, id: string, records: ReadonlyMap<string, KnownRecord>) {
    this.name = options.name;
    this.#options = options;
    this.#path = `${COLLECTIONS}/${id}`;
    this.#records = new Map(records);
    this.#next = records.size;
  }

  static async make(options: SoakedOptions, size: number): Promise<SoakedCollection> {
    const { id } = await options.served.ask<{ id: string }>(COLLECTIONS, { name: options.name });
    const made = new SoakedCollection(options, id, new Map());
    await made.add(size);
    return made;
  }

  async fork(name: string): Promise<SoakedCollection> {
    const { id } = await this.#options.served.ask<{ id: string }>(`${this.#path}/fork`, { new_name: name });
    const fork = new SoakedCollection({ ...this.#options, name }, id, this.#records);
    fork.#next = this.#next;
    return fork;
  }

  async drop(): Promise<void> {
    const response = await this.#options.served.request(`${COLLECTIONS}/${this.name}`, { method: "DELETE" });
    if (response.status !== 200) throw new Error(`deletion of ${this.name}: ${response.status}`);
  }

  async add(count: number): Promise<void> {
    const ids = Array.from({ length: count }, (_, i) => `r${this.#next + i}`);
    this.#next += count;
    await this.#write("add", ids, 0);
  }

  /** Replaces some records. */
  async replace(count: number): Promise<void> {
    const ids = new Set(Array.from({ length: count }, () => this.#anyId()));
    await this.#write("upsert", [...ids], Math.floor(this.#options.random() * 2 ** 31));
  }

  async removeOldest(count: number): Promise<void> {
    const ids = [...this.#records.keys()].slice(0, count);
    for (const id of ids) this.#records.delete(id);
    await this.#ask("delete", { ids });
  }

  /** Throws where the record that was looked for is not what is found first. */
  async search(): Promise<void> {
    const { id, version } = this.#any();
    const rank = { $knn: { query: vectorOf(id, version), limit: 10 } };
    const select = { keys: ["#document", "#score"] };
    const found = await this.#ask<SearchAnswer>("search", {
      searches: [{ rank, limit: { limit: 10 }, select }],
    });
    this.#expect(id, version, [found.ids[0]?.[0], found.documents[0]?.[0]], "search");
  }

  async queryTopic(): Promise<void> {
    const { id, version } = this.#any();
    const found = await this.#ask<SearchAnswer>("query", {
      query_embeddings: [vectorOf(id, version)],
      n_results: 5,
      where: { topic: topicOf(id) },
      include: ["documents"],
    });
    this.#expect(id, version, [found.ids[0]?.[0], found.documents[0]?.[0]], "filtered query");
  }

  async get(): Promise<void> {
    const { id, version } = this.#any();
    const found = await this.#ask<GetAnswer>("get", { ids: [id], include: ["documents"] });
    this.#expect(id, version, [found.ids[0], found.documents[0]], "get");
  }

  async count(): Promise<void> {
    const count = await this.#ask<number>("count");
    if (count !== this.#records.size)
      throw new Error(`${this.name} counts ${count}, not ${this.#records.size}`);
  }

  #expect(id: string, version: number, found: readonly unknown[], what: string): void {
    const expected = [id, documentOf(id, version)];
    if (String(found) !== String(expected))
      throw new Error(`${what} in ${this.name} finds ${String(found)}, not ${String(expected)}`);
  }

  async #write(verb: string, ids: readonly string[], version: number): Promise<void> {
    for (const id of ids) this.#records.set(id, { version });
    await this.#ask(verb, {
      ids,
      embeddings: ids.map((id) => vectorOf(id, version)),
      documents: ids.map((id) => documentOf(id, version)),
      metadatas: ids.map((id) => ({ topic: topicOf(id), version })),
    });
  }

  /** Asks again where the server puts a request off, as clients do: made twice, each of them comes to the same. */
  async #ask<T>(verb: string, json?: unknown): Promise<T> {
    const { served, onPutOff } = this.#options;
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const response = await served.request(`${this.#path}/${verb}`, json === undefined ? {} : { json });
      const body = await response.text();
      if (response.ok) return JSON.parse(body) as T;
      const seconds = response.headers.get("retry-after");
      if (response.status !== 503 || seconds === null || performance.now() > until)
        throw new Error(`${verb} of ${this.name}: ${response.status} ${body}`);
      onPutOff();
      await sleep(Number(seconds) * 1_000);
    }
  }

  #anyId(): string {
    const ids = [...this.#records.keys()];
    return ids[Math.floor(this.#options.random() * ids.length)]!;
  }

  #any(): { readonly id: string; readonly version: number } {
    const id = this.#anyId();
    return { id, version: this.#records.get(id)!.version };
  }
}

interface GetAnswer {
  readonly ids: readonly string[];
  readonly documents: readonly string[];
}

interface SearchAnswer {
  readonly ids: readonly (readonly string[])[];
  readonly documents: readonly (readonly string[])[];
}

function numberOf(id: string): number {
  return Number(id.slice(1));
}

function topicOf(id: string): string {
  return `topic-${numberOf(id) % TOPICS}`;
}

function documentOf(id: string, version: number): string {
  return `Record ${id}, version ${version}. `.repeat(8);
}

function vectorOf(id: string, version: number): readonly number[] {
  const seed = numberOf(id) * 12.9898 + (version % 1_000_003) * 0.6180339;
  return Array.from({ length: DIMENSION }, (_, j) => {
    const value = Math.sin(seed + j * 78.233) * 43_758.5453;
    return Math.fround(value - Math.floor(value) - 0.5);
  });
}
