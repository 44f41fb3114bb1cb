/** Metadata of records and collections, as programs write and read it. */
import { isPlainObject } from "../require-known.ts";

export interface SparseVector {
  readonly "#type"?: "sparse_vector";
  /** In ascending order. */
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

export type MetadataValue =
  | string
  | number
  | boolean
  | readonly string[]
  | readonly number[]
  | readonly boolean[]
  | SparseVector;

/** Of a collection whose metadata has no type of its own. */
export type Metadata = Readonly<Record<string, MetadataValue>>;

/** What a type of metadata may be: `interface Note { year: number; topic?: string }`. */
export type MetadataShape<M> = { readonly [K in keyof M]: MetadataValue | undefined };

/** A change of metadata: keys that are left out stay, those that are `null` go. */
export type MetadataPatch<M> = { readonly [K in keyof M]?: M[K] | null };

export function isSparseVector(value: unknown): value is SparseVector {
  return typeof value === "object" && value !== null && "indices" in value && "values" in value;
}

/**
 * @throws TypeError for what JSON would make something else of: `NaN` would become `null`, which removes the field, and a
 * `Map` an object without fields.
 */
export function requireMetadata(metadata: unknown, path: string): void {
  if (metadata === null || metadata === undefined) return;
  if (!isPlainObject(metadata)) throw new TypeError(`${path}: must be a plain object of fields`);
  for (const [key, value] of Object.entries(metadata) as [string, unknown][]) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (values.some((item) => typeof item === "number" && !Number.isFinite(item)))
      throw new TypeError(`${path}.${key}: must be finite; JSON has neither NaN nor infinity`);
  }
}

/** As it is sent: sparse vectors say what they are. */
export function metadataJson(metadata: object | null | undefined): object | null | undefined {
  if (metadata === null || metadata === undefined) return metadata;
  if (!Object.values(metadata).some(isSparseVector)) return metadata;
  const entries = Object.entries(metadata).map(([key, value]: [string, unknown]) =>
    isSparseVector(value) ? [key, { "#type": "sparse_vector", ...value }] : [key, value],
  );
  return Object.fromEntries(entries) as object;
}
