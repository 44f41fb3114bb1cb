/**
 * One writer with its own log: it knows the state after its last acknowledged write and the state that the write
 * in flight would make. After a crash the server must hold exactly one of the two.
 */
import type { ServedSheaf } from "../e2e/testing/served-sheaf.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const MAX_BATCH = 20;
const IDS = 60;

interface RecordState {
  readonly embedding: readonly number[];
  readonly document: string;
  readonly n: number;
}

/** Collection name -> its records; a collection that is absent was never made or is dropped. */
export type State = ReadonlyMap<string, ReadonlyMap<string, RecordState>>;

interface Step {
  readonly after: State;
  readonly path: string;
  readonly method: string;
  readonly body: unknown;
}

export type Random = () => number;

export class Writer {
  readonly #name: string;
  readonly #random: Random;
  #acknowledged: State = new Map();
  #pending: State | null = null;
  #counter = 0;
  readonly #collectionIds = new Map<string, string>();

  constructor(name: string, random: Random) {
    this.#name = name;
    this.#random = random;
  }

  /** States that the server may hold now. */
  get allowed(): readonly State[] {
    return this.#pending === null ? [this.#acknowledged] : [this.#acknowledged, this.#pending];
  }

  get prefix(): string {
    return `${this.#name}-`;
  }

  /** Takes what the server was found to hold as the truth to go on from. */
  resume(found: State): void {
    this.#acknowledged = found;
    this.#pending = null;
  }

  /** Writes until the server stops answering; gives the number of acknowledged writes. */
  async run(served: ServedSheaf): Promise<number> {
    for (let acknowledged = 0; ; acknowledged++) {
      const step = await this.#nextStep(served);
      if (step === null) return acknowledged;
      this.#pending = step.after;
      const body = step.body === null ? {} : { body: JSON.stringify(step.body) };
      const response = await served
        .request(step.path, { method: step.method, headers: { "content-type": "application/json" }, ...body })
        .catch(() => null);
      // A connection cut while the body is on its way is no acknowledgement either.
      const text = await response?.text().catch(() => null);
      if (response === null || text === null || text === undefined) return acknowledged;
      if (!response.ok) throw new Error(`${step.method} ${step.path}: ${response.status} ${text}`);
      this.#acknowledged = step.after;
      this.#pending = null;
    }
  }

  async #nextStep(served: ServedSheaf): Promise<Step | null> {
    const names = [...this.#acknowledged.keys()];
    const chance = this.#random();
    if (names.length === 0 || (names.length < 3 && chance < 0.05)) return this.#create();
    const name = names[Math.floor(this.#random() * names.length)] ?? "";
    if (chance > 0.98) return this.#drop(name);
    const id = await this.#collectionId(served, name);
    return id === null ? null : this.#write(name, `${COLLECTIONS}/${id}`);
  }

  #create(): Step {
    const name = `${this.prefix}${this.#counter++}`;
    const after = new Map([...this.#acknowledged, [name, new Map()]]);
    return { after, path: COLLECTIONS, method: "POST", body: { name } };
  }

  #drop(name: string): Step {
    const after = new Map(this.#acknowledged);
    after.delete(name);
    return { after, path: `${COLLECTIONS}/${name}`, method: "DELETE", body: null };
  }

  #write(name: string, path: string): Step {
    const records = new Map(this.#acknowledged.get(name));
    const ids = this.#someIds();
    const kind = (["add", "upsert", "update", "delete"] as const)[Math.floor(this.#random() * 4)] ?? "add";
    const after = new Map([...this.#acknowledged, [name, records]]);
    if (kind === "delete") {
      for (const id of ids) records.delete(id);
      return { after, path: `${path}/delete`, method: "POST", body: { ids } };
    }
    const values = ids.map(() => this.#value());
    for (const [position, id] of ids.entries()) {
      const value = values[position];
      if (
        value === undefined ||
        (kind === "add" && records.has(id)) ||
        (kind === "update" && !records.has(id))
      ) {
        continue;
      }
      records.set(id, value);
    }
    const body = {
      ids,
      embeddings: values.map(({ embedding }) => embedding),
      documents: values.map(({ document }) => document),
      metadatas: values.map(({ n }) => ({ n })),
    };
    return { after, path: `${path}/${kind}`, method: "POST", body };
  }

  #value(): RecordState {
    const n = this.#counter++;
    return { embedding: [n, Math.fround(this.#random()), 1], document: `${this.#name} wrote ${n}`, n };
  }

  #someIds(): string[] {
    const size = 1 + Math.floor(this.#random() * MAX_BATCH);
    const ids = new Set<string>();
    while (ids.size < size) ids.add(`r${Math.floor(this.#random() * IDS)}`);
    return [...ids];
  }

  async #collectionId(served: ServedSheaf, name: string): Promise<string | null> {
    const known = this.#collectionIds.get(name);
    if (known !== undefined) return known;
    const response = await served.request(`${COLLECTIONS}/${name}`).catch(() => null);
    const text = await response?.text().catch(() => null);
    if (response === null || text === null || text === undefined) return null;
    if (!response.ok) throw new Error(`collection ${name}: ${response.status} ${text}`);
    const { id } = JSON.parse(text) as { id: string };
    this.#collectionIds.set(name, id);
    return id;
  }
}

/** Everything the server holds under a prefix. */
export async function readState(served: ServedSheaf, prefix: string): Promise<State> {
  const listed = await served.ask<{ id: string; name: string }[]>(COLLECTIONS);
  const state = new Map<string, ReadonlyMap<string, RecordState>>();
  for (const { id, name } of listed) {
    if (!name.startsWith(prefix)) continue;
    const found = await served.ask<{
      ids: string[];
      embeddings: number[][];
      documents: string[];
      metadatas: { n: number }[];
    }>(`${COLLECTIONS}/${id}/get`, { include: ["embeddings", "documents", "metadatas"] });
    const records = found.ids.map((recordId, row): [string, RecordState] => [
      recordId,
      {
        embedding: (found.embeddings[row] ?? []).map((x) => Math.fround(x)),
        document: found.documents[row] ?? "",
        n: found.metadatas[row]?.n ?? Number.NaN,
      },
    ]);
    if (new Set(found.ids).size !== found.ids.length) throw new Error(`${name} holds an id twice`);
    if ((await served.ask<number>(`${COLLECTIONS}/${id}/count`)) !== records.length) {
      throw new Error(`${name}: count and get disagree`);
    }
    state.set(name, new Map(records));
  }
  return state;
}

/** A state in one order, for comparison. */
export function canonical(state: State): string {
  const collections = [...state].map(([name, records]): [string, [string, RecordState][]] => [
    name,
    [...records].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ]);
  return JSON.stringify(collections.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
