/** Bodies that suit the collections of the playground, so that many requests get past every check and do something. */

const vectors = [
  [1, 0, 0],
  [0.5, -2, 3.25],
  [0, 0, 0],
  [-1e3, 1e-3, 7],
];
const wheres = [
  { n: { $gte: 10 } },
  { $and: [{ s: "s1" }, { flag: true }] },
  { $or: [{ x: { $lt: 2.5 } }, { tags: { $contains: "t1" } }, { "#id": { $in: ["a", "record-7"] } }] },
  { "#document": { $regex: "text [0-3]\\d" } },
  { "#document": { $contains: "stra" } },
  { n: { $nin: [1, 2, 3] } },
];
const records = {
  ids: ["a", "new-1", "new-2"],
  embeddings: vectors.slice(0, 3),
  documents: ["a text", "", "日本語 🎉"],
  metadatas: [{ n: 1, s: "x" }, { x: 2.5, tags: ["a"] }, { flag: false }],
};
const texts = { ids: ["t1", "t2"], documents: ["a short text", "another one"] };
const knn = (more: object = {}): object => ({ $knn: { query: vectors[1], ...more } });
const search = (...parts: readonly object[]): object => ({ searches: parts });

/** Name of the schema -> bodies. */
export const FITTING_BODIES: Readonly<Record<string, readonly object[]>> = {
  AddBody: [records, texts, { ids: ["b"], embeddings: ["AACAPwAAAEAAAEBA"] }],
  ChangeBody: [records, texts, { ids: ["a"], metadatas: [{ n: null, more: 1 }] }],
  DeleteBody: [{ ids: ["record-3", "none"] }, { where: { n: 39 }, limit: 1 }],
  GetBody: [
    ...wheres.map((where) => ({
      where,
      limit: 5,
      include: ["documents", "metadatas", "embeddings", "uris"],
    })),
    { ids: ["a", "b", "none"], offset: 1 },
    { order_by: [{ n: "desc" }, { s: "asc" }, { tags: "asc" }], limit: 7 },
    { where_document: { $not_regex: "(?i)TEXT 1" } },
  ],
  CountBody: [{}, ...wheres.map((where) => ({ where }))],
  FacetsBody: wheres.map((where, i) => ({
    ...(i % 2 === 0 && { where, histogram: i + 1 }),
    ...{ keys: ["n", "s", "tags", "x", "flag", "none"], limit: i },
  })),
  QueryBody: wheres.map((where, i) => ({ query_embeddings: vectors, where, n_results: i * 7 })),
  ReadBody: [{ ids: ["a"] }, { where: wheres[0] }],
  SearchBody: [
    ...wheres.map((where) => search({ where, rank: knn(), limit: { limit: 5 } })),
    search({ rank: knn({ key: "bm25", query: "a short text" }) }, { rank: knn({ query: "another text" }) }),
    search({
      rank: {
        $sum: [knn({ return_rank: true, default: 10 }), { $mul: [{ $val: -2 }, knn({ query: vectors[0] })] }],
      },
      group_by: { keys: ["s", "flag"], aggregate: { $min_k: { keys: ["#score", "n"], k: 2 } } },
      select: { keys: ["#score", "#document", "n"] },
    }),
    search({ order_by: [{ flag: "asc" }, { x: "desc" }], where: wheres[2], limit: { limit: 4, offset: 2 } }),
    search(
      { rank: { $key: { key: "n" } }, where: wheres[0] },
      {
        rank: { $sum: [knn(), { $key: { key: "flag", default: 1 } }, { $age: { key: "x", half_life: 60 } }] },
      },
    ),
    search({
      rank: { $div: { left: knn(), right: { $sub: { left: { $exp: knn() }, right: { $log: knn() } } } } },
    }),
  ],
  EmbedBody: [{ texts: ["a short text", "日本語", ""], instructions: "" }],
};
