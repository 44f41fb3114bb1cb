/** The text of a manifest, member by member. Unknown members are refused: what a reader must know would be a feature. */
import type { StoreHead } from "../record-store.ts";
import type { Manifest, SegmentEntry } from "./manifest.ts";
import { isFileName } from "./segment-files.ts";
import type { FileIdentity } from "./section-writer.ts";

type Fail = (reason: string) => Error;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_U32 = 0xffff_ffff;

/** Throws what `fail` makes of the reason. */
export function parseManifest(text: string, fail: Fail): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fail("it is no JSON");
  }
  const read = new ManifestReader(fail);
  const { n, lineage, covers, segments, deadRows } = read.members("manifest", value, [
    ...["n", "lineage", "covers", "segments", "deadRows"],
  ]);
  if (typeof lineage !== "string" || !UUID.test(lineage)) throw fail("lineage: no UUID");
  if (!Array.isArray(segments)) throw fail("segments: no list");
  const manifest = {
    ...{ n: read.integer("n", n), lineage, covers: read.head("covers", covers) },
    segments: segments.map((segment, i) => read.segment(`segments[${i}]`, segment)),
    deadRows: deadRows === null ? null : read.identity("deadRows", deadRows),
  };
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

  identity(path: string, value: unknown): FileIdentity {
    const { name, crc } = this.members(path, value, ["name", "crc"]);
    if (typeof name !== "string" || !isFileName(name)) throw this.#fail(`${path}.name: no name of a file`);
    return { name, crc: this.integer(`${path}.crc`, crc, MAX_U32) };
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
