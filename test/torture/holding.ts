/**
 * What one writer must find on the server: the model of truth. Immutable: every operation makes a new one from the
 * one before, so that a writer whose answer got lost can hold the server to "either before or after".
 */

/** Record id -> nonce of the write that made it what it is. */
export type Records = ReadonlyMap<string, number>;

/** Kinds of collections, by what their schema says. */
export type Variant = "plain l2" | "bm25 cosine" | "sparse ip";
export const VARIANTS: readonly Variant[] = ["plain l2", "bm25 cosine", "sparse ip"];

export interface OwnCollection {
  /** `null`: the answer that held it got lost. */
  readonly id: string | null;
  readonly variant: Variant;
  /** Kept in its metadata and in its configuration alike; one change sets both. */
  readonly mark: number;
  readonly isFork: boolean;
  readonly records: Records;
}

/** `null`: the answer that held it got lost. */
export interface IssuedKey {
  readonly id: string | null;
  readonly secret: string | null;
}

export interface OwnKey extends IssuedKey {
  /** The key that it was rotated from, which is refused but listed. */
  readonly old: IssuedKey | null;
}

export interface Holding {
  /** Collections that are the writer's alone, by name. */
  readonly collections: ReadonlyMap<string, OwnCollection>;
  /** Its records in the collections that all writers share, by name of the collection. */
  readonly shared: ReadonlyMap<string, Records>;
  /** By name. */
  readonly keys: ReadonlyMap<string, OwnKey>;
  /** Secrets that must be refused. */
  readonly revoked: readonly string[];
}

const MOST_REVOKED = 4;
const MOST_SHOWN = 8;

export function withCollection(holding: Holding, name: string, collection: OwnCollection | null): Holding {
  return { ...holding, collections: changed(holding.collections, name, collection) };
}

export function withShared(holding: Holding, name: string, records: Records): Holding {
  return { ...holding, shared: changed(holding.shared, name, records) };
}

export function withKey(holding: Holding, name: string, key: OwnKey | null): Holding {
  return { ...holding, keys: changed(holding.keys, name, key) };
}

export function withRevoked(holding: Holding, secret: string | null): Holding {
  if (secret === null) return holding;
  return { ...holding, revoked: [...holding.revoked, secret].slice(-MOST_REVOKED) };
}

/** Secrets with what the server must answer to each: whether it takes it. */
export function secretsOf({ keys, revoked }: Holding): ReadonlyMap<string, boolean> {
  const secrets = new Map<string, boolean>(revoked.map((secret) => [secret, false]));
  for (const { secret, old } of keys.values()) {
    if (secret !== null) secrets.set(secret, true);
    if (old !== null && old.secret !== null) secrets.set(old.secret, false);
  }
  return secrets;
}

/** What the log says and the server does not, or the other way round; none: they agree. */
export function differences(log: Holding, server: Holding, taken: ReadonlySet<string>): string[] {
  return [
    ...compareMaps(log.collections, server.collections, (name, expected, found) => [
      ...compareField(`collection ${name}: id`, expected.id, found.id),
      ...compareField(`collection ${name}: schema`, expected.variant, found.variant),
      ...compareField(`collection ${name}: mark`, expected.mark, found.mark),
      ...compareRecords(name, expected.records, found.records),
    ]),
    ...compareMaps(log.shared, server.shared, compareRecords),
    ...compareMaps(log.keys, server.keys, (name, expected, found) => [
      ...compareField(`key ${name}: id`, expected.id, found.id),
      ...compareField(`key ${name}: is rotated`, expected.old !== null, found.old !== null),
      ...compareField(`key ${name}: old id`, expected.old?.id ?? null, found.old?.id ?? null),
    ]),
    ...[...secretsOf(log)]
      .filter(([secret, isTaken]) => isTaken !== taken.has(secret))
      .map(
        ([secret, isTaken]) =>
          `the log says ${isTaken ? "valid" : "void"} of ${nameOf(log, secret)}, the server the opposite`,
      ),
  ];
}

/** What was found, with the parts of the log that a server does not tell. */
export function adopt(log: Holding, found: Holding): Holding {
  const collections = [...log.collections].map(([name, collection]): [string, OwnCollection] => [
    name,
    { ...collection, id: found.collections.get(name)?.id ?? null },
  ]);
  const keys = [...log.keys].map(([name, key]): [string, OwnKey] => {
    const { id = null, old = null } = found.keys.get(name) ?? {};
    return [name, { ...key, id, old: key.old === null ? null : { ...key.old, id: old?.id ?? null } }];
  });
  return { ...log, collections: new Map(collections), keys: new Map(keys) };
}

function changed<T>(map: ReadonlyMap<string, T>, name: string, value: T | null): ReadonlyMap<string, T> {
  const copy = new Map(map);
  if (value === null) copy.delete(name);
  else copy.set(name, value);
  return copy;
}

function compareMaps<T>(
  log: ReadonlyMap<string, T>,
  server: ReadonlyMap<string, T>,
  compare: (name: string, expected: T, found: T) => readonly string[],
): string[] {
  return [...new Set([...log.keys(), ...server.keys()])].flatMap((name) => {
    const [expected, found] = [log.get(name), server.get(name)];
    if (expected === undefined) return [`${name}: the log says none, the server has it`];
    if (found === undefined) return [`${name}: the log has it, the server says none`];
    return compare(name, expected, found);
  });
}

/** An id that the log does not know (`null`) may be any. */
function compareField<T>(what: string, expected: T | null, found: T | null): string[] {
  return expected === null || expected === found
    ? []
    : [`${what}: the log says ${String(expected)}, the server says ${String(found)}`];
}

function compareRecords(name: string, log: Records, server: Records): string[] {
  const wrong = [...new Set([...log.keys(), ...server.keys()])].filter(
    (id) => log.get(id) !== server.get(id),
  );
  const shown = wrong
    .slice(0, MOST_SHOWN)
    .map((id) => `${id} (log: ${log.get(id) ?? "none"}, server: ${server.get(id) ?? "none"})`);
  return wrong.length === 0 ? [] : [`${name}: ${wrong.length} records by nonce: ${shown.join(", ")}`];
}

function nameOf({ keys }: Holding, secret: string): string {
  for (const [name, key] of keys) {
    if (key.secret === secret) return `key ${name}`;
    if (key.old?.secret === secret) return `the key that ${name} was rotated from`;
  }
  return "a revoked key";
}
