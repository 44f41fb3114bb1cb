/** Collections whose every answer is known, so that a wrong one shows. */
import { expect } from "vitest";
import { descendants, type ServedSheaf } from "../../e2e/testing/served-sheaf.ts";

export const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
export const INCLUDE = ["documents", "embeddings", "metadatas"];
const DIMENSION = 24;
/** An engine host that died is back long before. */
/** Tells slow from hung. */
const BACK_WITHIN_MS = 30_000;

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

interface GetResult {
  readonly ids: readonly string[];
  readonly documents: readonly string[];
  readonly embeddings: readonly (readonly number[])[];
  readonly metadatas: readonly { readonly n: number }[];
}

export class KnownCollection {
  readonly id: string;
  readonly name: string;
  readonly #served: () => ServedSheaf;
  readonly #size: number;

  private constructor(id: string, name: string, size: number, served: () => ServedSheaf) {
    this.id = id;
    this.name = name;
    this.#size = size;
    this.#served = served;
  }

  /** Made with several writes; some values are longer than a page. `served` is asked anew for each request. */
  static async make(served: () => ServedSheaf, name: string, size = 60): Promise<KnownCollection> {
    const { id } = await served().ask<{ id: string }>(COLLECTIONS, { name });
    for (let from = 0; from < size; from += 20) {
      const rows = Array.from({ length: Math.min(20, size - from) }, (_, i) => from + i);
      await served().ask(`${COLLECTIONS}/${id}/add`, {
        ids: rows.map((n) => `r${n}`),
        documents: rows.map((n) => documentOf(name, n)),
        embeddings: rows.map(vectorOf),
        metadatas: rows.map((n) => ({ n })),
      });
    }
    return new KnownCollection(id, name, size, served);
  }

  async ask(verb: string, json?: unknown): Promise<Answer> {
    const response = await this.#served().request(
      `${COLLECTIONS}/${this.id}/${verb}`,
      json === undefined ? {} : { json },
    );
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text) as unknown };
  }

  getAll(): Promise<Answer> {
    return this.ask("get", { include: INCLUDE });
  }

  getOne(n: number): Promise<Answer> {
    return this.ask("get", { ids: [`r${n}`], include: INCLUDE });
  }

  query(n: number): Promise<Answer> {
    return this.ask("query", { query_embeddings: [vectorOf(n)], n_results: 1, include: ["documents"] });
  }

  search(n: number): Promise<Answer> {
    const rank = { $knn: { query: vectorOf(n), limit: 10 } };
    const select = { keys: ["#document"] };
    return this.ask("search", { searches: [{ rank, limit: { limit: 1 }, select }] });
  }

  count(): Promise<Answer> {
    return this.ask("count");
  }

  upsert(id: string, n: number): Promise<Answer> {
    return this.ask("upsert", { ids: [id], embeddings: [vectorOf(n)], documents: ["written later"] });
  }

  delete(ids: readonly string[]): Promise<Answer> {
    return this.ask("delete", { ids });
  }

  async drop(): Promise<number> {
    return (await this.#served().request(`${COLLECTIONS}/${this.name}`, { method: "DELETE" })).status;
  }

  /** All that is read is either right, or refused with 500 and a word about what to do. Returns how many were right. */
  async expectRightOrRefused(): Promise<number> {
    const { name } = this;
    const size = this.#size;
    const answers: readonly [Answer, (body: unknown) => void][] = [
      [await this.getAll(), (body) => expectRecords(body as GetResult, name, rangeTo(size))],
      [await this.getOne(7), (body) => expectRecords(body as GetResult, name, [7])],
      [await this.count(), (body) => expect(body, name).toBe(size)],
      [
        await this.query(5),
        (body) => expect(body, name).toMatchObject({ ids: [["r5"]], documents: [[documentOf(name, 5)]] }),
      ],
      [
        await this.search(9),
        (body) => expect(body, name).toMatchObject({ ids: [["r9"]], documents: [[documentOf(name, 9)]] }),
      ],
    ];
    let right = 0;
    for (const [{ status, body }, check] of answers) {
      if (status === 200) {
        check(body);
        right += 1;
      } else expectRefused({ status, body });
    }
    return right;
  }

  /** Everything is right, at the latest when a host that has just died is back. */
  async expectSound(): Promise<void> {
    await expect
      .poll(async () => (await this.getAll()).status, { timeout: BACK_WITHIN_MS, interval: 20 })
      .toBe(200);
    expect(await this.expectRightOrRefused(), this.name).toBe(5);
  }

  /** Out of service for good: asked as often as one likes, it is a 500 that names the way out. */
  async expectUnavailable(): Promise<void> {
    await expect
      .poll(async () => (await this.getAll()).status, { timeout: BACK_WITHIN_MS, interval: 20 })
      .toBe(500);
    for (const answer of [
      await this.getAll(),
      await this.query(1),
      await this.search(2),
      await this.upsert("x", 3),
    ]) {
      expectRefused(answer);
    }
  }
}

/** 500 with a word about what to do, or 503 while a host is on its way. */
function expectRefused({ status, body }: Answer): void {
  expect([500, 503], JSON.stringify(body)).toContain(status);
  if (status === 500) {
    expect(body).toMatchObject({ error: "InternalError", message: expect.stringContaining("sheaf doctor") });
    expect(JSON.stringify(body), "a place in the data folder").not.toContain("collections/");
  }
}

function expectRecords(found: GetResult, name: string, rows: readonly number[]): void {
  expect(found.ids, name).toEqual(rows.map((n) => `r${n}`));
  expect(found.documents, name).toEqual(rows.map((n) => documentOf(name, n)));
  expect(found.metadatas, name).toEqual(rows.map((n) => ({ n })));
  expect(found.embeddings, name).toEqual(rows.map(vectorOf));
}

/** Every seventh is longer than a page. */
export function documentOf(name: string, n: number): string {
  const text = `${name} record ${n} of many; `;
  return n % 7 === 0 ? text.repeat(250) : text;
}

function vectorOf(n: number): number[] {
  return Array.from({ length: DIMENSION }, (_, i) => (i === n % DIMENSION ? 100 + n : i));
}

function rangeTo(size: number): number[] {
  return Array.from({ length: size }, (_, n) => n);
}

/** Process id of the engine host that runs now; `null`: none does. */
export async function hostPid(served: ServedSheaf): Promise<number | null> {
  const children = await descendants(served.pid);
  return children.find(({ command }) => command.includes("engine-host"))?.pid ?? null;
}
