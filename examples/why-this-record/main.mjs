/** Why records rank where they do, and everything else that Chroma has not, on nine notes. Can be run again. */
import { SheafClient, age, fieldValue, hybridSchema, rrf } from "@sheaf/client";

// A line instead of a stack: most often the server is not there.
process.on("uncaughtException", ({ message }) => {
  console.error(message);
  process.exit(1);
});
if (!process.env.SHEAF_URL)
  throw new Error("set SHEAF_URL to the address of a server, such as http://127.0.0.1:8000");

const DAY = 86_400;
const TODAY = 1_760_000_000;
const NOTES = [
  ["tides", "Ships leave the harbour at high tide, about every twelve hours.", 1998, 300, "sea"],
  ["ferry", "Ferries do not wait for the tide: they draw less than two metres.", 2003, 20, "sea"],
  ["pilot", "A pilot guides each ship through the narrow channel of the harbour.", 2011, 2, "sea"],
  ["bread", "Sourdough rests overnight at eight degrees before it is baked.", 2003, 5, "kitchen"],
  ["galley", "The galley of the ship serves breakfast from six until nine.", 2019, 40, "kitchen"],
  ["engine", "Fault code E-42 means that the cooling water is too warm.", 2011, 1, "engine"],
  ["diesel", "The diesel engine is started ten minutes before the ship departs.", 2019, 90, "engine"],
  ["knots", "A bowline holds under load and is untied with cold fingers.", 1998, 10, "deck"],
  ["paint", "The deck is painted in April, when nights are dry.", 2019, 200, "deck"],
];

const client = new SheafClient({ url: process.env.SHEAF_URL, key: process.env.SHEAF_KEY });
const notes = await client.createCollection({
  name: "ship-notes",
  schema: hybridSchema(),
  getOrCreate: true,
});
await notes.upsert({
  records: NOTES.map(([id, document, year, daysOld, room]) => ({
    id,
    document,
    metadata: { year, room, created: TODAY - daysOld * DAY },
  })),
});
const ids = (rows) => rows.map(({ id }) => id).join(" ");

// Why here: the reciprocal rank fusion of a dense and a BM25 search, as a tree with a value at every node.
const query = "ships in the harbour";
const fused = rrf({ ranks: [{ query }, { query, key: "bm25" }] });
const { rows, plan, whyNot } = await notes.explainSearch({
  rank: fused,
  where: { room: { $ne: "kitchen" } },
  limit: 2,
  ids: ["galley", "paint", "anchor"],
});
const leaves = ({ op, operands = [], ...leaf }) =>
  op === "$knn" ? [leaf] : operands.flatMap((operand) => leaves(operand));
for (const { id, score, trace } of rows) {
  const places = leaves(trace).map(({ key, rank }) => `place ${rank} in ${key}`);
  console.log(`${id} has ${score.toFixed(4)}: ${places.join(", ")}`);
}
console.log(`found among ${plan.rows} of ${plan.records} records`);
// Why not: filtered, or found by nothing, or further down.
for (const { id, reason, path, rank } of whyNot)
  console.log(`not ${id}: ${reason} ${path ?? (rank === undefined ? "" : `at place ${rank}`)}`.trim());

// What would be refused or not do what it was meant to, without running it.
const { problems, warnings } = await notes.check({
  searches: [{ rank: { $knn: { query, key: "bm52" } } }, { where: { yaer: 2011 } }],
});
console.log(`check: ${[...problems, ...warnings].map(({ code, path }) => `${code} at ${path}`).join("; ")}`);

// Rank by what is known: newer is better, whatever it is about.
const byAge = age({ key: "created", halfLifeSeconds: 30 * DAY, now: new Date(TODAY * 1_000) });
console.log(`newest: ${ids(await notes.search({ rank: byAge, limit: 3 }))}`);
console.log(`oldest year: ${ids(await notes.search({ rank: fieldValue({ key: "year" }), limit: 2 }))}`);
const orderBy = [{ year: "desc" }, { room: "asc" }];
console.log(`by year, then room: ${ids(await notes.get({ orderBy, limit: 3, select: [] }))}`);

// How many there are of what.
console.log(`of the sea: ${await notes.count({ where: { room: "sea" } })}`);
const { year } = await notes.facets({ keys: ["year"] });
console.log(`years: ${year.values.map(({ value, count }) => `${value} (${count})`).join(", ")}`);

// Results that differ, and where they match.
const differing = await notes.search({ rank: fused, mmr: { lambda: 0.3, limit: 3 }, limit: 3, select: [] });
console.log(`differing: ${ids(differing)}`);
const [match] = await notes.search({ rank: fused, limit: 1, highlight: { snippet: 40 }, select: [] });
const words = match.snippet.highlights.map(({ start, end }) => match.snippet.text.slice(start, end));
console.log(`"${match.snippet.text}" matches ${words.join(", ")}`);
