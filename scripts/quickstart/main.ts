/**
 * The tour: import a folder of files, or one file, then ask it the same question in five ways. Everything goes over HTTP to a
 * server started for the purpose; every vector is made there.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Collection, type Row, type Snippet, hybridSchema, knn, rrf } from "@sheaf/client";
import { Presets, SingleBar } from "cli-progress";
import { DOCUMENTATION, describeLeftOut, findFiles } from "./found-files.ts";
import { type FileMetadata, importFiles } from "./import-files.ts";
import { startServer } from "./server.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const DEFAULT_QUESTION = "What happens to a write when the server is killed?";
const HITS = 5;
/** Characters that are shown of a document. */
const SNIPPET = 120;
const CANDIDATES = 50;

/** Files that are named, with the reasons why they were skipped. */
const MOST_SKIPPED = 10;
/** At the beginning of a chunk. */
const HEADING = /^\s*#{1,6}\s+(?<title>.+?)\s*#*\s*(?:\n|$)/u;
const WRONG_USAGE = 2;

/** What a search of the tour answers. */
type Found = Row<FileMetadata, "title" | "path" | "#document" | "#score"> & {
  readonly snippet: Snippet | null;
};

const KEEP = "--keep";
const [given, asked] = process.argv.slice(2).filter((argument) => argument !== KEEP);
const keeps = process.argv.includes(KEEP);
const place = resolve(given ?? PROJECT);

const found = existsSync(place)
  ? await findFiles(place, given === undefined ? DOCUMENTATION : undefined).catch((error: unknown) =>
      refuse(`${place}: ${error instanceof Error ? error.message : String(error)}`),
    )
  : refuse(`${place}: no such folder or file`);
const notes = describeLeftOut(found.leftOut);
if (found.files.length === 0) refuse([`${place}: no file in it that can be read`, ...notes].join("; "));
for (const note of notes) console.log(note);
console.log("Starting a server…");
const server = await startServer();
let stopping: Promise<void> | undefined;
let isKept = false;
const stop = (): Promise<void> => (stopping ??= server.stop());
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => void stop().finally(() => process.exit(isKept ? 0 : 130)));
}
try {
  const collection = await server.client.createCollection<FileMetadata>({
    name: "quickstart",
    schema: hybridSchema(),
  });
  await importWithBar(collection);
  if ((await collection.count()) === 0) {
    await stop();
    refuse(`${place}: no text in it`);
  }
  await tour(collection, asked ?? (await ownQuestion(collection)));
  if (keeps) {
    isKept = true;
    console.log(`\nThe server stays up at ${server.url} until Ctrl-C. Its key: ${server.key}`);
    console.log(`Its console, to sign in with that key: ${server.url}/console`);
    await server.ended;
  }
} catch (error) {
  // What was under way when it was interrupted fails, of course.
  if (stopping === undefined) throw error;
} finally {
  await stop();
}
console.log("\nDone. The server is stopped and its data folder removed.");
if (!keeps) console.log(`${KEEP} leaves it up, with its console: npm run quickstart -- ${KEEP}`);
console.log(
  "Next: docs/guide/getting-started.md starts a server to keep, and writes such searches with curl.",
);

/** For whoever gave none. The default is about this documentation, so another text is asked for its first title. */
async function ownQuestion(collection: Collection<FileMetadata>): Promise<string> {
  const [first] = await collection.get({ limit: 1, select: ["title"] });
  const own = given === undefined ? DEFAULT_QUESTION : (first?.metadata?.title ?? DEFAULT_QUESTION);
  console.log(`\nNo question was given, so it asks: "${own}"`);
  console.log('Ask your own after the folder: npm run quickstart -- FOLDER "question"');
  return own;
}

/** Exit code 2, as for wrong usage of the command line. */
function refuse(problem: string): never {
  console.error(`quickstart: ${problem}`);
  process.exit(WRONG_USAGE);
}

async function importWithBar(collection: Collection<FileMetadata>): Promise<void> {
  const total = found.files.length;
  console.log(`Indexing ${total} file${total === 1 ? "" : "s"} from ${place}`);
  const bar = new SingleBar(
    {
      format: "embedding {bar} {percentage}% | {value}/{total} files | {duration}s so far",
      noTTYOutput: true,
    },
    Presets.shades_classic,
  );
  bar.start(total, 0);
  const skipped = await importFiles(collection, found, (done) => bar.update(done));
  bar.stop();
  for (const file of skipped.slice(0, MOST_SKIPPED)) console.log(`skipped ${file}`);
  if (skipped.length > MOST_SKIPPED) console.log(`skipped ${skipped.length - MOST_SKIPPED} more`);
}

async function tour(collection: Collection<FileMetadata>, question: string): Promise<void> {
  console.log("\nLower scores are better. dense: cosine distance; sparse: the BM25 score, negated;");
  console.log(
    "hybrid and grouped: the sum of 1 / (60 + position) over the dense and the sparse ranking, from position 0, negated;",
  );
  console.log(
    `a record that a ranking does not have among its first ${CANDIDATES} counts as position ${CANDIDATES}.`,
  );
  const dense = { query: question, limit: CANDIDATES };
  const sparse = { query: question, key: "bm25", limit: CANDIDATES };
  const hybrid = rrf({ ranks: [dense, sparse] });
  const { folder: folders } = await collection.facets({ keys: ["folder"], limit: 1 });
  const folder = folders.values[0]?.value ?? ".";
  const select = ["title", "path", "#document", "#score"] as const;
  const shown = { limit: HITS, select, highlight: { snippet: SNIPPET } } as const;
  const groupBy = { keys: ["path"], aggregate: { $min_k: { keys: ["#score"], k: 1 } } };
  const searches: readonly [kind: string, note: string, search: () => Promise<readonly Found[]>][] = [
    ["dense", "", () => collection.search({ rank: knn(dense), ...shown })],
    ["sparse", "", () => collection.search({ rank: knn(sparse), ...shown })],
    ["hybrid", "", () => collection.search({ rank: hybrid, ...shown })],
    [
      "hybrid where",
      ` folder = "${folder}"`,
      () => collection.search({ where: { folder }, rank: hybrid, ...shown }),
    ],
    ["grouped", " best chunk of each file", () => collection.search({ rank: hybrid, groupBy, ...shown })],
  ];
  for (const [kind, note, search] of searches) await show(`${kind}${note} "${question}"`, search);
}

async function show(what: string, search: () => Promise<readonly Found[]>): Promise<void> {
  const startedAt = performance.now();
  const hits = await search();
  const milliseconds = (performance.now() - startedAt).toFixed(1);
  console.log(`\n${what} (${milliseconds} ms)`);
  for (const [position, { document, metadata, score, snippet }] of hits.entries()) {
    const heading = HEADING.exec(document ?? "")?.groups?.["title"];
    const words = [metadata?.path, heading ?? metadata?.title, score.toFixed(4)];
    console.log(`${position + 1}. ${words.filter((word) => word !== undefined).join(" ")}`);
    console.log(`   ${lineOf(snippet)}`);
  }
}

/** The words that matched, or the beginning of a text in which none did, without the heading, which stands above. */
function lineOf(snippet: Snippet | null): string {
  const text = snippet?.text ?? "";
  const isFirst = snippet?.start === 0;
  const line = (isFirst ? text.replace(HEADING, "") : text).replaceAll(/\s+/gu, " ").trim();
  return isFirst ? line : `… ${line}`;
}
