/** The rows of the table: what is asked, how often, and what the exact answer is. */
import type { FilterName } from "../workload/filters.ts";
import type { Row } from "../measured-row.ts";
import { recordId } from "../workload/record-content.ts";
import { facetBodies, getBodies, queryBodies, searchBodies, upsertBodies } from "../workload/requests.ts";
import type { SearchSet } from "../workload/search-set.ts";

export interface TableRow {
  readonly id: string;
  readonly label: string;
  /** Below the collection. */
  readonly path: string;
  /** Requests that Chroma answers: as many as Sheaf where it is fast. */
  readonly chromaRequests: number;
  make(set: SearchSet): Row;
}

const MANY = 300;
const SOME = 100;
/** Rows where one answer of Chroma takes tenths of a second. */
const FEW = 30;
const DISTANCES = ["distances"];

/** Asked of a collection that holds no sparse vectors, for Chroma's local server takes none. */
export const QUERY_ROWS: readonly TableRow[] = [
  queryRow("all", "unfiltered", MANY),
  queryRow("half", "50 %", FEW),
  queryRow("f5", "5 %", SOME),
  queryRow("f01", "0.1 %", FEW),
  queryRow("adversarial", "5 %, adversarial", SOME),
  queryRow("substring", "substring", FEW),
  queryRow("regex", "regular expression", FEW),
  queryRow("alternatives", "regular expression, alternatives", FEW),
  queryRow("caseless", "regular expression, (?i)", FEW),
  {
    ...queryRow("all", "with documents and metadata", MANY, ["documents", "metadatas", "distances"]),
    id: "documents",
  },
  {
    id: "get",
    label: "get by id",
    path: "/get",
    chromaRequests: MANY,
    make: (set) => ({ bodies: getBodies(set) }),
  },
];

/** Comes last, for it changes the collection. */
export const UPSERT_ROW: TableRow = {
  id: "upsert",
  label: "single upsert",
  path: "/upsert",
  chromaRequests: SOME,
  make: (set) => ({ bodies: upsertBodies(set) }),
};

/** Asked of Sheaf alone, of a collection with sparse vectors too. */
export const HYBRID_ROWS: readonly TableRow[] = [
  searchRow("sparse", "sparse leaf, top 100"),
  searchRow("dense leaf", "dense leaf, top 100"),
  searchRow("hybrid", "hybrid of both leaves"),
  searchRow("explained", "hybrid, explained"),
  searchRow("grouped", "hybrid, grouped"),
  searchRow("metadata", "$key in 5 % of the rows"),
  {
    ...{ id: "facets", label: "facets of 3 keys, filtered", path: "/facets", chromaRequests: 0 },
    make: (set) => ({ bodies: facetBodies(set) }),
  },
];

export const THROUGHPUT_ROWS: readonly TableRow[] = QUERY_ROWS.filter(({ id }) =>
  ["all", "half"].includes(id),
);

function queryRow(
  filter: FilterName,
  label: string,
  chromaRequests: number,
  include: readonly string[] = DISTANCES,
): TableRow {
  return {
    id: filter,
    label,
    path: "/query",
    chromaRequests,
    make: (set) => ({
      bodies: queryBodies(set, filter, include),
      truth: set.truth.nearest[filter].map((rows) => rows.map(recordId)),
    }),
  };
}

function searchRow(shape: Parameters<typeof searchBodies>[1], label: string): TableRow {
  return {
    id: shape,
    label,
    path: "/search",
    chromaRequests: 0,
    make: (set) => ({ bodies: searchBodies(set, shape) }),
  };
}
