/** How the server and its tenants are. */
import { type JsonSchema, Type } from "../json-schema.ts";
import { arrayOf, closed, count, orNull, ref, words } from "../schema-parts.ts";

const time = Type.String({ format: "date-time" });
const amount = Type.Object({
  used: orNull(count(), "`null`: it is not counted."),
  quota: orNull(count(), "`null`: there is none, or the key may not see all that it counts for."),
});

export const STATE_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  CurrentKey: Type.Object({
    id: Type.String({ description: "Empty where no keys are asked for." }),
    tenant: orNull(Type.String(), "The only tenant that it may touch; `null`: every one."),
    database: orNull(Type.String(), "The only database of that tenant; `null`: every one."),
    scopes: arrayOf(words(["embed", "read", "write", "admin"])),
    expires_at: orNull(time),
  }),
  TenantUsage: Type.Object({
    tenant: Type.String(),
    databases: amount,
    collections: amount,
    records: amount,
    bytes: amount,
    tokens_today: amount,
    described: arrayOf(ref("CollectionUsage"), {
      description: "By database, and there in order of creation.",
    }),
  }),
  CollectionUsage: Type.Object({
    id: Type.String(),
    name: Type.String(),
    database: Type.String(),
    dimension: orNull(count()),
    records: orNull(count(), "`null`: not written to since a version that kept no account."),
    bytes: orNull(count(), "That its records take on the disk, without the index."),
    last_write_at: orNull(time, "`null`: never, or not known. To within a second."),
    total_ops: count("Operations that were written."),
    num_indexed_ops: count("Those of them that the index has."),
  }),
  Model: Type.Object({
    identifier: Type.String(),
    kind: words(["dense", "sparse"]),
    dimension: orNull(count(), "Of a dense vector."),
    max_tokens: orNull(count(), "Of the longest text; `null`: any."),
    query_model: orNull(Type.String(), "The model for queries where it is another one."),
    available: Type.Boolean({ description: "Its weights are here." }),
    loaded: Type.Boolean({ description: "It is in memory." }),
    memory_bytes: orNull(count(), "That it takes while it is loaded."),
    pull: Type.Union(
      [
        Type.Object({ state: Type.Literal("pulling"), received_bytes: count(), total_bytes: count() }),
        Type.Object({ state: Type.Literal("failed") }),
        Type.Null(),
      ],
      { description: "Of absent weights that were asked for. Why it failed is in the log of the server." },
    ),
  }),
  PullBody: closed({ model: Type.String({ description: "Identifier of a model of the list." }) }),
  Node: Type.Object({
    role: words(["all", "embed", "index", "search"]),
    address: orNull(Type.String(), "Host and port that gateways call; `null`: nobody calls it."),
    version: orNull(Type.String(), "`null`: it is of a version that does not say."),
    last_seen_at: time,
    silent_seconds: count("Since then. Beyond 15 gateways do not count it any more."),
  }),
  MetricsHistory: Type.Object({
    interval_seconds: count(),
    intervals: arrayOf(ref("HistoryInterval"), {
      description: "The oldest first. Those in which nothing was measured are left out.",
    }),
  }),
  HistoryInterval: Type.Object({
    from: time,
    requests: count(),
    refused: count("Answers of 400 to 499."),
    failed: count("Answers of 500 and more."),
    tokens: count("That models have run over."),
    stages: Type.Record(
      "^[A-Za-z.]+$",
      Type.Object({
        count: count(),
        p50: Type.Number({ description: "Milliseconds, to within a tenth." }),
        p95: Type.Number(),
      }),
      { description: "Of whole requests, `request`, and of their stages." },
    ),
  }),
};
