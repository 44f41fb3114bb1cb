/** The body of `POST .../facets`, and the JSON of what it is answered with. */
import { invalid } from "../errors.ts";
import { writeArray, writeFloat64, writeMetadataValue } from "../json/json-writer.ts";
import {
  itemPath,
  itemsOf,
  membersOf,
  optional,
  positiveOf,
  refuseUnknown,
  required,
  stringOf,
  type Members,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { Facet, FacetBucket, FacetsRequest } from "./ast.ts";
import { parseOptionalCount, parseSelector } from "./selector.ts";

const MEMBERS = ["keys", "ids", "where", "where_document", "limit", "histogram"];
const DEFAULT_LIMIT = 10;

/**
 * Unknown members are refused, for nothing in the answer would show that a misspelt filter was ignored.
 *
 * @throws SheafError 422 for wrong JSON types and missing `keys`, 400 for an invalid filter, bounds and unknown members.
 */
export function parseFacetsRequest(body: unknown): FacetsRequest {
  const members = membersOf(body, "");
  const selector = parseSelector(members);
  refuseUnknown(members, MEMBERS, "");
  const limit = parseOptionalCount(members, "limit") ?? DEFAULT_LIMIT;
  if (limit > LIMITS.facetValues) throw invalid("limit", `must be at most ${LIMITS.facetValues}`);
  return Object.freeze({ ...selector, keys: parseKeys(members), limit, histogram: parseHistogram(members) });
}

/** A member of the object that answers; in pieces. */
export function* writeFacet({ key, values, missing, other, ...numbers }: Facet): Generator<string> {
  const { min, max, histogram } = numbers;
  yield `${JSON.stringify(key)}:{"values":[`;
  for (const [i, { value, count }] of values.entries()) {
    yield `${i === 0 ? "" : ","}{"value":${writeMetadataValue(value)},"count":${count}}`;
  }
  yield `],"missing":${missing},"other":${other},"min":${writeNumber(min)},"max":${writeNumber(max)}`;
  yield histogram === null ? "}" : `,"histogram":${writeArray(histogram, writeBucket)}}`;
}

function writeNumber(value: bigint | number | null): string {
  return value === null ? "null" : writeMetadataValue(value);
}

function writeBucket({ from, to, count }: FacetBucket): string {
  return `{"from":${writeFloat64(from)},"to":${writeFloat64(to)},"count":${count}}`;
}

/** Each key once: again it says nothing. */
function parseKeys(members: Members): readonly string[] {
  const keys = itemsOf(required(members, "keys", ""), "keys").map((key, i) =>
    stringOf(key, itemPath("keys", i)),
  );
  if (keys.length === 0) throw invalid("keys", "must hold at least 1 key");
  if (keys.length > LIMITS.facetKeys) throw invalid("keys", `must hold at most ${LIMITS.facetKeys} keys`);
  const refused = keys.findIndex((key) => key === "" || key.startsWith("#"));
  if (refused !== -1) throw invalid(itemPath("keys", refused), "must be a metadata field");
  return Object.freeze([...new Set(keys)]);
}

function parseHistogram(members: Members): number | null {
  const value = optional(members, "histogram");
  if (value === undefined) return null;
  const buckets = positiveOf(value, "histogram");
  if (buckets > LIMITS.facetBuckets) throw invalid("histogram", `must be at most ${LIMITS.facetBuckets}`);
  return buckets;
}
