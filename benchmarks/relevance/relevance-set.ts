/** A retrieval test collection on disk, in the layout of BEIR: corpus.jsonl, queries.jsonl and qrels.tsv. */
import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

export interface CorpusDocument {
  readonly id: string;
  /** Title and text, joined by a blank as BEIR's own baselines do. */
  readonly text: string;
}

export interface JudgedQuery {
  readonly id: string;
  readonly text: string;
  /** Document id -> grade; absent means not relevant. */
  readonly grades: ReadonlyMap<string, number>;
}

export interface RelevanceSet {
  readonly name: string;
  readonly documents: readonly CorpusDocument[];
  /** Only those with a relevant document: the others would score 0 whatever is answered. */
  readonly queries: readonly JudgedQuery[];
}

interface Line {
  readonly _id: string;
  readonly title?: string;
  readonly text: string;
}

/** Throws where a file is missing or malformed. */
export async function readRelevanceSet(folder: string): Promise<RelevanceSet> {
  const corpus = await readLines(join(folder, "corpus.jsonl"));
  const queries = await readLines(join(folder, "queries.jsonl"));
  const grades = await readGrades(folder);
  return {
    name: basename(resolve(folder)),
    documents: corpus.map(({ _id, title, text }) => ({ id: _id, text: `${title ?? ""} ${text}`.trim() })),
    queries: queries.flatMap(({ _id, text }) => {
      const judged = grades.get(_id) ?? new Map<string, number>();
      return [...judged.values()].some((grade) => grade > 0) ? [{ id: _id, text, grades: judged }] : [];
    }),
  };
}

async function readLines(file: string): Promise<readonly Line[]> {
  const text = await readFile(file, "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}

/** `qrels.tsv`, or `qrels/test.tsv` where BEIR's archives have it. Query id -> document id -> grade. */
async function readGrades(folder: string): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
  const text = await readFile(join(folder, "qrels.tsv"), "utf8").catch(() =>
    readFile(join(folder, "qrels", "test.tsv"), "utf8"),
  );
  const grades = new Map<string, Map<string, number>>();
  for (const [index, line] of text.split("\n").entries()) {
    const [query, document, grade] = line.trim().split("\t");
    // The first line names the columns.
    if (index === 0 || query === undefined || document === undefined || grade === undefined) continue;
    const judged = grades.get(query) ?? new Map<string, number>();
    grades.set(query, judged.set(document, Number(grade)));
  }
  return grades;
}
