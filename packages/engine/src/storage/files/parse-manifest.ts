/** The text of a manifest, member by member. Unknown members are refused: what a reader must know would be a feature. */
import type { Space } from "@sheaf/protocol";
import { METADATA_KINDS } from "../metadata-kinds.ts";
import type { StoreHead } from "../record-store.ts";
import type { KeyKinds, Manifest, SegmentEntry } from "./manifest.ts";
import { isFileName } from "./segment-files.ts";
import type { FileIdentity } from "./section-writer.ts";

type Fail = (reason: string) => Error;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_U32 = 0xffff_ffff;
const SPACES: readonly Space[] = ["l2", "cosine", "ip"];
const MEMBERS = [
  ...(["n", "lineage", "covers", "head", "space", "sparse", "kinds"] as const),
  ...(["segments", "deadRows"] as const),
];

/** Throws what `fail` makes of the reason. */
export function parseManifest(text: string, fail: Fail): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fail("it is no JSON");
  }
  const read = new ManifestReader(fail);
  const { deadRows, ...fields } = read.members("manifest", value, MEMBERS);
  const { lineage } = fields;
  if (typeof lineage !== "string" || !UUID.test(lineage)) throw fail("lineage: no UUID");
  const manifest = {
    n: read.integer("n", fields.n),
    lineage,
    covers: read.integer("covers", fields.covers),
    head: read.head("head", fields.head),
    space: read.oneOf("space", fields.space, SPACES),
    sparse: read.list("sparse", fields.sparse, (path, key) => read.text(path, key)),
    kinds: read.list("kinds", fields.kinds, (path, kinds) => read.kinds(path, kinds)),
    segments: read.list("segments", fields.segments, (path, segment) => read.segment(path, segment)),
    deadRows: deadRows === null ? null : read.identity("deadRows", deadRows),
  };
  if (manifest.covers > manifest.head.sequence) throw fail("covers: it is above head.sequence");
  const names = [...manifest.segments, ...(manifest.deadRows === null ? [] : [manifest.deadRows])];
  if (new Set(names.map(({ name }) => name)).size < names.length) throw fail("it names a file twice");
  return manifest;
}

class ManifestReader {
  readonly #fail: Fail;

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  head(path: string, value: unknown): StoreHead {
    const { sequence, nextOffset, dimension } = this.members(path, value, [
      "sequence",
      "nextOffset",
      "dimension",
    ]);
    return {
      sequence: this.integer(`${path}.sequence`, sequence),
      nextOffset: this.integer(`${path}.nextOffset`, nextOffset),
      dimension: dimension === null ? null : this.integer(`${path}.dimension`, dimension),
    };
  }

  segment(path: string, value: unknown): SegmentEntry {
    const { name, crc, rows } = this.members(path, value, ["name", "crc", "rows"]);
    return { ...this.identity(path, { name, crc }), rows: this.integer(`${path}.rows`, rows, MAX_U32) };
  }

  kinds(path: string, value: unknown): KeyKinds {
    const { key, kinds } = this.members(path, value, ["key", "kinds"]);
    return {
      key: this.text(`${path}.key`, key),
      kinds: this.list(`${path}.kinds`, kinds, (place, kind) => this.oneOf(place, kind, METADATA_KINDS)),
    };
  }

  identity(path: string, value: unknown): FileIdentity {
    const { name, crc } = this.members(path, value, ["name", "crc"]);
    if (typeof name !== "string" || !isFileName(name)) throw this.#fail(`${path}.name: no name of a file`);
    return { name, crc: this.integer(`${path}.crc`, crc, MAX_U32) };
  }

  list<T>(path: string, value: unknown, read: (path: string, item: unknown) => T): T[] {
    if (!Array.isArray(value)) throw this.#fail(`${path}: no list`);
    return value.map((item, i) => read(`${path}[${i}]`, item));
  }

  text(path: string, value: unknown): string {
    if (typeof value !== "string") throw this.#fail(`${path}: no text`);
    return value;
  }

  oneOf<T extends string>(path: string, value: unknown, known: readonly T[]): T {
    const found = known.find((name) => name === value);
    if (found === undefined) throw this.#fail(`${path}: none of ${known.join(", ")}`);
    return found;
  }

  integer(path: string, value: unknown, most = Number.MAX_SAFE_INTEGER): number {
    if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > most)
      throw this.#fail(`${path}: no integer up to ${most}`);
    return value;
  }

  /** Of an object that has just these. */
  members<K extends string>(path: string, value: unknown, keys: readonly K[]): Readonly<Record<K, unknown>> {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (!isObject || Object.keys(value).toSorted().join() !== keys.toSorted().join())
      throw this.#fail(`${path}: no object with just ${keys.join(", ")}`);
    return value as Readonly<Record<K, unknown>>;
  }
}
