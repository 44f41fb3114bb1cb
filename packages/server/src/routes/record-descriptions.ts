/** What the API description says of the record and search routes. */
import { type RouteDescription, answers } from "../http/route-description.ts";
import { Type } from "../openapi/json-schema.ts";
import { READ_LEVELS } from "../openapi/schemas/record-schemas.ts";
import { count, ref, words } from "../openapi/schema-parts.ts";

const WRITE_ERRORS = [
  "invalid_argument",
  "already_exists",
  "model_mismatch",
  "too_large",
  "model_unavailable",
  "collection_unavailable",
  "storage_full",
] as const;
const EMBEDS =
  "A missing embedding is made from the document by the collection's embedding function, a missing sparse vector from " +
  "its `source_key`. With `chunking` documents are cut into chunks, each a record. Of a batch that is refused nothing is stored.";
const EMPTY = { description: "On disk, and seen by the next search.", schema: ref("Empty") };

export const RECORDS = {
  add: {
    summary: "Add records",
    details: `An id that exists is left as it is. ${EMBEDS}`,
    tag: "Records",
    body: ref("AddBody"),
    replies: { 201: EMPTY },
    errors: WRITE_ERRORS,
  },
  upsert: {
    summary: "Add or change records",
    details: `Merges into the records that exist. ${EMBEDS}`,
    tag: "Records",
    body: ref("ChangeBody"),
    replies: { 200: EMPTY },
    errors: WRITE_ERRORS,
  },
  update: {
    summary: "Change records",
    details: `Ids that do not exist are ignored. ${EMBEDS}`,
    tag: "Records",
    body: ref("ChangeBody"),
    replies: { 200: EMPTY },
    errors: WRITE_ERRORS,
  },
  delete: {
    summary: "Delete records",
    details: "By ids, by a filter, or by both; a body that selects by nothing deletes nothing.",
    tag: "Records",
    body: ref("DeleteBody"),
    replies: answers(ref("Deleted")),
    errors: ["collection_unavailable", "storage_full"],
  },
  get: {
    summary: "Get records",
    details: "By ids, by a filter, or by both, in the order of `order_by` or in insertion order.",
    tag: "Records",
    body: ref("GetBody"),
    replies: answers(ref("GetResult")),
    errors: ["collection_unavailable"],
  },
  query: {
    summary: "Nearest neighbours of vectors",
    tag: "Records",
    body: ref("QueryBody"),
    replies: answers(ref("QueryResult")),
    errors: ["collection_unavailable"],
  },
  conditionalGet: {
    summary: "Read records for a conditional commit",
    tag: "Records",
    body: ref("ReadBody"),
    replies: answers(ref("ReadResult")),
    errors: ["conditional_conflict", "stale_read", "collection_unavailable"],
  },
  conditionalCommit: {
    summary: "Write if what was read has not changed",
    tag: "Records",
    body: ref("CommitBody"),
    replies: answers(ref("Committed")),
    errors: [...WRITE_ERRORS, "conditional_conflict", "stale_read"],
  },
  count: {
    summary: "Count records",
    tag: "Records",
    query: { read_level: words(READ_LEVELS) },
    replies: answers(count()),
    errors: ["collection_unavailable"],
  },
  countMatches: {
    summary: "Count the records that match",
    details: "As many as a `get` with the same selection finds. Other members are refused.",
    tag: "Records",
    body: ref("CountBody"),
    replies: answers(count()),
    errors: ["collection_unavailable"],
  },
  facets: {
    summary: "Count the values of metadata keys",
    details:
      "Exactly, among the records that a `get` with the same selection finds. Other members are refused.",
    tag: "Records",
    body: ref("FacetsBody"),
    replies: answers(ref("Facets")),
    errors: ["too_large", "collection_unavailable"],
  },
  checkSearch: {
    summary: "Check a search without running it",
    details:
      "200 also for what a search would refuse. No text is embedded, no record is read. Whether a text is too long for its model, only the search tells.",
    tag: "Search",
    // Whatever it is, the answer says what is wrong with it.
    body: Type.Union([ref("SearchBody"), {}]),
    replies: answers(ref("SearchCheck")),
    errors: ["collection_unavailable"],
  },
  search: {
    summary: "Search",
    details: "Several searches in one call; their results come in the same order.",
    tag: "Search",
    body: ref("SearchBody"),
    replies: answers(ref("SearchResult")),
    errors: ["model_mismatch", "too_large", "model_unavailable", "collection_unavailable"],
  },
} as const satisfies Record<string, RouteDescription>;

/** Paths of a feature that this server has not; existing clients know them. */
export const ATTACHED_FUNCTIONS = {
  summary: "Attached functions",
  details: "Not supported: every call is answered with 501.",
  tag: "Collections",
  replies: {},
} as const satisfies RouteDescription;
