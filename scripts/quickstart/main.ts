/**
 * The tour: index a folder of text, or one file, then ask it the same question in five ways. Everything goes over HTTP to a
 * server started for the purpose; every vector is made there.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Collection, type Row, type Snippet, hybridSchema, knn, rrf } from "@sheaf/client";
import { Presets, SingleBar } from "cli-progress";
import { type SectionMetadata, folderOf, indexSections } from "./index-sections.ts";
import { describeLeftOut, readSections, type Section } from "./sections.ts";
import { startServer } from "./server.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const DEFAULT_QUESTION = "What happens to a write when the server is killed?";
const HITS = 5;
/** Characters that are shown of a document. */
const SNIPPET = 120;
const CANDIDATES = 50;

const WRONG_USAGE = 2;

/** What a search of the tour answers. */
type Found = Row<SectionMetadata, "title" | "path" | "#score"> & { readonly snippet: Snippet | null };

const KEEP = "--keep";
const [given, asked] = process.argv.slice(2).filter((argument) => argument !== KEEP);
const keeps = process.argv.includes(KEEP);
const place = resolve(given ?? PROJECT);

const { sections, leftOut } = existsSync(place)
  ? await readSections(place).catch((error: unknown) =>
      refuse(`${place}: ${error instanceof Error ? error.message : String(error)}`),
    )
  : refuse(`${place}: no such folder or file`);
const notes = describeLeftOut(leftOut);
if (sections.length === 0) refuse([`${place}: no text or Markdown in it`, ...notes].join("; "));
for (const note of notes) console.log(note);
const question = asked ?? ownQuestion();
console.log("Starting a server…");
const server = await startServer();
let stopping: Promise<void> | undefined;
let isKept = false;
const stop = (): Promise<void> => (stopping ??= server.stop());
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => void stop().finally(() => process.exit(isKept ? 0 : 130)));
}
try {
  const collection = await server.client.createCollection<SectionMetadata>({
    name: "quickstart",
    schema: hybridSchema(),
  });
  await indexWithBar(collection);
  await tour(collection);
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

/** For whoever gave none. The default is about this documentation, so another text is asked for its first heading. */
function ownQuestion(): string {
  const asked = place === resolve(PROJECT) ? DEFAULT_QUESTION : (sections[0]?.title ?? DEFAULT_QUESTION);
  console.log(`No question was given, so it asks: "${asked}"`);
  console.log('Ask your own after the folder: npm run quickstart -- FOLDER "question"');
  return asked;
}

/** Exit code 2, as for wrong usage of the command line. */
function refuse(problem: string): never {
  console.error(`quickstart: ${problem}`);
  process.exit(WRONG_USAGE);
}

async function indexWithBar(collection: Collection<SectionMetadata>): Promise<void> {
  const files = new Set(sections.map(({ path }) => path)).size;
  console.log(`Indexing ${counted(sections.length, "section")} of ${counted(files, "file")} from ${place}`);
  const bar = new SingleBar(
    { format: "embedding {bar} {percentage}% | {value}/{total} sections | {eta}s left", noTTYOutput: true },
    Presets.shades_classic,
  );
  bar.start(sections.length, 0);
  await indexSections(collection, sections, (written) => bar.update(written));
  bar.stop();
}

async function tour(collection: Collection<SectionMetadata>): Promise<void> {
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
  const folder = mostCommonFolder(sections);
  const select = ["title", "path", "#score"] as const;
  const shown = { limit: HITS, select, highlight: { snippet: SNIPPET } } as const;
  const groupBy = { keys: ["path"], aggregate: { $min_k: { keys: ["#score"], k: 1 } } };
  const where = { folder };
  await show("dense", "", () => collection.search({ rank: knn(dense), ...shown }));
  await show("sparse", "", () => collection.search({ rank: knn(sparse), ...shown }));
  await show("hybrid", "", () => collection.search({ rank: hybrid, ...shown }));
  await show("hybrid where", ` folder = "${folder}"`, () =>
    collection.search({ where, rank: hybrid, ...shown }),
  );
  await show("grouped", " best section of each file", () =>
    collection.search({ rank: hybrid, groupBy, ...shown }),
  );
}

async function show(kind: string, note: string, search: () => Promise<readonly Found[]>): Promise<void> {
  const startedAt = performance.now();
  const hits = await search();
  const milliseconds = (performance.now() - startedAt).toFixed(1);
  console.log(`\n${kind}${note} "${question}" (${milliseconds} ms)`);
  for (const [position, { metadata, score, snippet }] of hits.entries()) {
    const title = metadata?.title ?? "";
    console.log(`${position + 1}. ${metadata?.path ?? ""} ${title} ${score.toFixed(4)}`);
    console.log(`   ${lineOf(snippet, title)}`);
  }
}

/** The words that matched, or the beginning of a text in which none did. Documents begin with their title. */
function lineOf(snippet: Snippet | null, title: string): string {
  const text = snippet?.text ?? "";
  const isFirst = snippet?.start === 0;
  const line = (isFirst && text.startsWith(title) ? text.slice(title.length) : text)
    .replaceAll(/\s+/gu, " ")
    .trim();
  return isFirst ? line : `… ${line}`;
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

function mostCommonFolder(all: readonly Section[]): string {
  const counts = new Map<string, number>();
  for (const section of all) {
    const name = folderOf(section);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [first] = [...counts].toSorted((a, b) => b[1] - a[1]);
  return first?.[0] ?? ".";
}
