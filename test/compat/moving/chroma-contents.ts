/** Fills a Chroma server with what there is of every kind, and reads all of a server back. */

interface Server {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const TENANTS = ["default_tenant", "second tenant"] as const;
const DATABASES = ["default_database", "archive"] as const;
const COLLECTIONS_EACH = 30;
const WHOLE_COLLECTIONS = TENANTS.length * DATABASES.length * COLLECTIONS_EACH;
const RECORDS = 20_000;
const DIMENSION = 8;
const BATCH = 1_000;
const INCLUDE = ["embeddings", "documents", "metadatas", "uris"];
const SPACES = ["l2", "cosine", "ip"] as const;

export interface Contents {
  readonly collections: number;
  readonly records: number;
  /** By `tenant/database/name`: what the collection says of itself, and its records by id. */
  readonly all: ReadonlyMap<string, string>;
}

/** 120 collections with 20,000 records, most of them in a few. */
export async function fillChroma(server: Server): Promise<void> {
  let left = RECORDS;
  for (const tenant of TENANTS) {
    if (tenant !== "default_tenant") await ask(server, "/api/v2/tenants", { name: tenant });
    const databases = `/api/v2/tenants/${encodeURIComponent(tenant)}/databases`;
    for (const database of DATABASES) {
      if (tenant !== "default_tenant" || database !== "default_database")
        await ask(server, databases, { name: database });
      for (let i = 0; i < COLLECTIONS_EACH; i++) {
        const isLast =
          tenant === TENANTS.at(-1) && database === DATABASES.at(-1) && i === COLLECTIONS_EACH - 1;
        const count = isLast ? left : i === 0 ? 4_000 : i === 1 ? 0 : 20 + i;
        left -= count;
        await fillCollection(server, `${databases}/${database}/collections`, { i, count });
      }
    }
  }
}

async function fillCollection(
  server: Server,
  path: string,
  { i, count }: { readonly i: number; readonly count: number },
): Promise<void> {
  const made = await ask(server, path, {
    name: `collection-${i}`,
    ...(i % 3 === 0 ? {} : { metadata: { owner: `ü${i}`, year: 1990 + i, share: 0.5, open: i % 2 === 0 } }),
    configuration: {
      hnsw: { space: SPACES[i % SPACES.length], ef_construction: 100 + i },
      ...(i % 5 === 0
        ? {
            embedding_function: {
              type: "known",
              name: "openai",
              config: { model_name: "m", api_key_env_var: "K" },
            },
          }
        : {}),
    },
  });
  const { id } = JSON.parse(made) as { readonly id: string };
  for (let from = 0; from < count; from += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - from) }, (_, n) => from + n);
    await ask(server, `${path}/${id}/add`, {
      ids: numbers.map((n) => `record/${n} é`),
      embeddings: numbers.map((n) =>
        Array.from({ length: DIMENSION }, (_, d) => Math.sin(n * 31 + d * 7 + i)),
      ),
      documents: numbers.map((n) => (n % 4 === 0 ? null : n % 4 === 1 ? "" : `Text ${n}\nof 🌊 ${i}`)),
      uris: numbers.map((n) => (n % 5 === 0 ? `file:///texts/${n}` : null)),
      metadatas: numbers.map((n) =>
        n % 6 === 0 ? null : { n, whole: `${n}`, half: n + 0.5, even: n % 2 === 0, ["a key"]: "ß" },
      ),
    });
  }
}

/** @param tenants Of the server. */
export async function readContents(server: Server, tenants: readonly string[]): Promise<Contents> {
  const all = new Map<string, string>();
  let records = 0;
  for (const tenant of tenants) {
    const databases = `/api/v2/tenants/${encodeURIComponent(tenant)}/databases`;
    for (const { name } of await list(server, databases)) {
      const path = `${databases}/${name}/collections`;
      for (const collection of await list(server, path)) {
        const found = await readRecords(server, `${path}/${collection.id}`);
        records += found.length;
        const { metadata, configuration_json: configuration, schema } = collection;
        const described = {
          metadata: sorted(metadata),
          space: sorted(configuration),
          schema: sorted(schema),
        };
        all.set(`${tenant}/${name}/${collection.name}`, JSON.stringify([described, found]));
      }
    }
  }
  if (all.size === 0) throw new Error("the server is empty");
  return { collections: all.size, records, all };
}

export function requireWhole({ collections, records }: Contents): void {
  if (collections !== WHOLE_COLLECTIONS || records !== RECORDS)
    throw new Error(`${collections} collections with ${records} records, and not what was made`);
}

/** Names of collections that are not the same. */
export function differences(before: Contents, after: Contents): readonly string[] {
  const names = new Set([...before.all.keys(), ...after.all.keys()]);
  return [...names].filter((name) => before.all.get(name) !== after.all.get(name));
}

async function readRecords(server: Server, path: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (;;) {
    const text = await ask(server, `${path}/get`, { limit: BATCH, offset: found.length, include: INCLUDE });
    const page = JSON.parse(text) as Record<string, unknown[] | null> & { readonly ids: string[] };
    for (const [i, id] of page.ids.entries()) {
      const embedding = Array.from(Float32Array.from((page["embeddings"]?.[i] ?? []) as number[]));
      const metadata = page["metadatas"]?.[i];
      // Chroma says `{}` of a record that has a document or a URI and no metadata, Sheaf says `null`.
      const isEmpty = metadata === null || Object.keys(metadata as object).length === 0;
      const rest = [page["documents"]?.[i], page["uris"]?.[i], isEmpty ? null : sorted(metadata)];
      found.push(JSON.stringify([id, embedding, ...rest]));
    }
    if (page.ids.length < BATCH) return found.toSorted();
  }
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly metadata?: unknown;
  readonly configuration_json?: unknown;
  readonly schema?: unknown;
}

async function list(server: Server, path: string): Promise<readonly Listed[]> {
  const found: Listed[] = [];
  for (;;) {
    const page = JSON.parse(await ask(server, `${path}?limit=100&offset=${found.length}`)) as Listed[];
    found.push(...page);
    if (page.length < 100) return found;
  }
}

/** Members by name, all the way down. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value ?? null;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  );
}

async function ask(server: Server, path: string, json?: unknown): Promise<string> {
  const response = await fetch(`${server.url}${path}`, {
    method: json === undefined ? "GET" : "POST",
    headers: { ...server.headers, "content-type": "application/json" },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return text;
}
