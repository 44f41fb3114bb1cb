/** What the API description says of the collection routes. */
import { Type } from "../openapi/json-schema.ts";
import { type RouteDescription, answers } from "../http/route-description.ts";
import { count, ref } from "../openapi/schema-parts.ts";
import { PAGE, answersList } from "./tenant-descriptions.ts";

const EMPTY = answers(ref("Empty"));
const ANSWER = answers(ref("Collection"));
/** GET and DELETE address a collection by its name, everything else by its id. */
const BY_NAME = { collection: Type.String({ description: "Name of the collection." }) } as const;

export const COLLECTIONS = {
  create: {
    summary: "Create a collection",
    details: "With `get_or_create` a collection that exists is returned as it is.",
    tag: "Collections",
    body: ref("CollectionBody"),
    replies: ANSWER,
    errors: ["already_exists", "storage_full"],
  },
  list: {
    summary: "List collections",
    tag: "Collections",
    query: PAGE,
    replies: answersList(ref("Collection"), "In order of creation."),
    errors: ["too_large"],
  },
  count: { summary: "Count collections", tag: "Collections", replies: answers(count()) },
  getByName: { summary: "Get a collection by name", tag: "Collections", path: BY_NAME, replies: ANSWER },
  getById: { summary: "Get a collection by id", tag: "Collections", replies: ANSWER },
  getByCrn: {
    summary: "Get a collection by resource name",
    tag: "Collections",
    path: { crn: Type.String({ description: "`tenant_resource:database:collection`" }) },
    replies: ANSWER,
    errors: ["unimplemented"],
  },
  update: {
    summary: "Rename or change a collection",
    tag: "Collections",
    body: ref("CollectionUpdate"),
    replies: EMPTY,
    errors: ["already_exists"],
  },
  delete: {
    summary: "Delete a collection",
    details: "Its records go with it, and its disk space is given back.",
    tag: "Collections",
    path: BY_NAME,
    replies: EMPTY,
  },
  indexingStatus: {
    summary: "How much of a collection is indexed",
    tag: "Collections",
    replies: answers(ref("IndexingStatus")),
  },
  acceptModel: {
    summary: "Accept the weights that the server has now",
    details:
      "A collection remembers the weights that the server made its vectors with; with others, texts are refused with 409. " +
      "This takes those of now for them. Vectors that are stored stay as they are.",
    tag: "Collections",
    replies: answers(ref("AcceptedModels")),
    errors: ["model_unavailable", "storage_full"],
  },
  fork: {
    summary: "Fork a collection",
    details: "A collection of its own with all records at one point in time.",
    tag: "Collections",
    body: ref("ForkBody"),
    replies: ANSWER,
    errors: ["already_exists", "storage_full"],
  },
  forkCount: {
    summary: "Count the forks of a collection",
    tag: "Collections",
    replies: answers(ref("ForkCount")),
  },
} as const satisfies Record<string, RouteDescription>;
