/** What facets must answer, in the plainest code: every value of every record, one after the other. */
import {
  type Facet,
  type FacetBucket,
  type FacetsRequest,
  type MetadataScalar,
  type MetadataValue,
  arrayMembers,
} from "@sheaf/protocol";
import type { StoredRecord } from "../../storage/stored-record.ts";
import { type OracleCollection, oracleSelect } from "./oracle.ts";

const LONGEST = 256;
const KINDS = ["boolean", "bigint", "number", "string"];

interface Counted {
  readonly value: MetadataScalar;
  count: number;
}

export function oracleFacets(collection: OracleCollection, request: FacetsRequest): Facet[] {
  const rows = oracleSelect(collection, request);
  return request.keys.map((key) => facetOf(rows, key, request));
}

function facetOf(rows: readonly StoredRecord[], key: string, { limit, histogram }: FacetsRequest): Facet {
  const counted: Counted[] = [];
  let missing = 0;
  for (const { metadata } of rows) {
    const values = valuesOf(metadata?.get(key));
    if (values.length === 0) missing++;
    for (const value of values) {
      const known = counted.find((other) => isSame(other.value, value));
      if (known === undefined) counted.push({ value, count: 1 });
      else known.count++;
    }
  }
  const isListed = ({ value }: Counted): boolean => typeof value !== "string" || value.length <= LONGEST;
  const values = counted.filter(isListed).sort(inOrder).slice(0, limit);
  const sum = (list: readonly Counted[]): number => list.reduce((all, { count }) => all + count, 0);
  const numbers = counted.filter(
    (one): one is CountedNumber => typeof one.value === "number" || typeof one.value === "bigint",
  );
  numbers.sort((a, b) =>
    a.value < b.value
      ? -1
      : a.value > b.value
        ? 1
        : KINDS.indexOf(typeof a.value) - KINDS.indexOf(typeof b.value),
  );
  const min = numbers[0]?.value ?? null;
  const last = numbers.at(-1)?.value;
  // Of an integer and a float that are equal, the integer.
  // oxlint-disable-next-line eqeqeq
  const max = numbers.find(({ value }) => value == last)?.value ?? null;
  return {
    ...{ key, values, missing, other: sum(counted) - sum(values), min, max },
    histogram: histogram === null ? null : bucketsOf(numbers, histogram, [min, max]),
  };
}

type CountedNumber = Counted & { readonly value: bigint | number };

function bucketsOf(
  numbers: readonly CountedNumber[],
  wanted: number,
  [min, max]: readonly (bigint | number | null)[],
): FacetBucket[] {
  if (numbers.length === 0) return [];
  const [low, high] = [Number(min), Number(max)];
  const count = low === high ? 1 : wanted;
  const bounds: number[] = [];
  for (let i = 0; i <= count; i++) {
    const step = ((high - low) * i) / count;
    const bound = Number.isFinite(step) ? low + step : low * (1 - i / count) + high * (i / count);
    bounds.push(i === 0 ? low : i === count ? high : Math.min(high, Math.max(low, bound)));
  }
  bounds.sort((a, b) => a - b);
  const counts = Array.from({ length: count }, () => 0);
  for (const one of numbers) {
    let bucket = 0;
    for (let i = 1; i < count; i++) if (bounds[i]! <= one.value) bucket = i;
    counts[bucket]! += one.count;
  }
  return counts.map((of, i) => ({ from: bounds[i]!, to: bounds[i + 1]!, count: of }));
}

/** Each once, and no -0. */
function valuesOf(value: MetadataValue | undefined): MetadataScalar[] {
  if (value === undefined) return [];
  if (typeof value === "object" && "indices" in value) return [];
  const all = typeof value === "object" ? [...arrayMembers(value)] : [value];
  const plain = all.map((one) => (typeof one === "number" ? one + 0 : one));
  return plain.filter((one, i) => plain.findIndex((other) => isSame(one, other)) === i);
}

function isSame(a: MetadataScalar, b: MetadataScalar): boolean {
  return typeof a === typeof b && a === b;
}

function inOrder(a: Counted, b: Counted): number {
  if (a.count !== b.count) return b.count - a.count;
  const kinds = KINDS.indexOf(typeof a.value) - KINDS.indexOf(typeof b.value);
  if (kinds !== 0) return kinds;
  if (typeof a.value === "string" && typeof b.value === "string")
    return Buffer.compare(Buffer.from(a.value), Buffer.from(b.value));
  return a.value < b.value ? -1 : 1;
}
