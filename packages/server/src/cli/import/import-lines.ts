/**
 * Upserts JSON lines, of a file or made of a table, in batches. How far it is stands beside the file, so that an import that was
 * interrupted goes on; what is written twice then is the same record again.
 */
import { appendFileSync, createReadStream, rmSync, statSync, truncateSync } from "node:fs";
import type { SheafClient } from "@sheaf/client";
import { SheafError } from "@sheaf/protocol";
import { type ReadLine, parseLine } from "./record-batch.ts";
import { readState, writeState } from "./saved-state.ts";
import { upsertLines } from "./upsert-lines.ts";

export interface ImportRequest {
  /** Beside which the state and the report lie. */
  readonly path: string;
  /** The collection and how lines are made: the same at a run that goes on where this one ends. */
  readonly key: string;
  /** Those behind the first ones, without their ends; a blank one is empty. */
  readonly lines: (from: number) => AsyncIterable<ImportedLine>;
  readonly client: Pick<SheafClient, "request">;
  /** Path of the collection at the server. */
  readonly collection: string;
  readonly onProgress: (records: number) => void;
}

/** `"too long"`: its bytes were passed over. */
export type ImportedLine = Uint8Array | "too long";

export interface ImportedLines {
  /** By this run. */
  readonly written: number;
  /** By this run and those that it goes on from. */
  readonly refused: number;
  /** Lines that an earlier run had done. */
  readonly resumedAt: number;
  /** File with the lines that were refused. */
  readonly report: string;
}

interface Saved {
  readonly source: string;
  readonly lines: number;
  /** Of those. */
  readonly refused: number;
  /** Of the report of these: what is behind is of lines that are not done, and comes again. */
  readonly reportBytes: number;
}

const BATCH_RECORDS = 500;
const BATCH_BYTES = 8 * 2 ** 20;
const LONGEST_LINE_BYTES = 64 * 2 ** 20;
const TOO_LONG = `the line is over ${LONGEST_LINE_BYTES} bytes`;
const LINE_END = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export async function importLines(request: ImportRequest): Promise<ImportedLines> {
  const run = new Import(request);
  return run.all();
}

class Import {
  readonly #request: ImportRequest;
  readonly #state: string;
  readonly #report: string;
  /** Another file under the same name has other lines. */
  readonly #source: string;
  #batch: ReadLine[] = [];
  #bytes = 0;
  #written = 0;
  #refused = 0;

  constructor(request: ImportRequest) {
    this.#request = request;
    this.#state = `${request.path}.import.json`;
    this.#report = `${request.path}.refused.jsonl`;
    const found = statSync(request.path);
    // A pipe or a device would be read for ever.
    if (!found.isFile()) throw new SheafError("invalid_argument", `${request.path} is no file`);
    const { size, mtimeMs } = found;
    this.#source = [request.key, size, mtimeMs].join(" ");
  }

  async all(): Promise<ImportedLines> {
    const resumedAt = this.#resume();
    let number = resumedAt;
    for await (const line of this.#request.lines(resumedAt)) {
      number += 1;
      if (line.length === 0) continue;
      if (line === "too long") this.#refuse(number, null, TOO_LONG);
      else this.#take(number, line);
      if (this.#batch.length >= BATCH_RECORDS || this.#bytes >= BATCH_BYTES) await this.#flush(number);
    }
    await this.#flush(number);
    rmSync(this.#state, { force: true });
    return { written: this.#written, refused: this.#refused, resumedAt, report: this.#report };
  }

  /** Lines that an earlier run of this file into the same collection has done. The report is of these alone then. */
  #resume(): number {
    const { source, lines, refused = 0, reportBytes = 0 } = readState<Saved>(this.#state) ?? {};
    if (source !== this.#source || typeof lines !== "number") {
      rmSync(this.#report, { force: true });
      return 0;
    }
    this.#refused = refused;
    if (bytesOf(this.#report) > reportBytes) truncateSync(this.#report, reportBytes);
    return lines;
  }

  #take(number: number, line: Uint8Array): void {
    try {
      this.#batch.push({ number, record: parseLine(line) });
      this.#bytes += line.length;
    } catch (error) {
      if (!(error instanceof SheafError)) throw error;
      this.#refuse(number, idOf(line), error.message);
    }
  }

  async #flush(lines: number): Promise<void> {
    // The last of several records with one id counts, as if each had been written by itself.
    const newest = new Map(this.#batch.map((line) => [line.record.id, line]));
    const { client, collection } = this.#request;
    this.#written += await upsertLines([...newest.values()], {
      client,
      collection,
      refuse: ({ number, record }, reason) => this.#refuse(number, record.id, reason),
    });
    this.#written += this.#batch.length - newest.size;
    [this.#batch, this.#bytes] = [[], 0];
    const reportBytes = bytesOf(this.#report);
    const saved: Saved = { source: this.#source, lines, refused: this.#refused, reportBytes };
    writeState(this.#state, saved);
    this.#request.onProgress(this.#written);
  }

  #refuse(line: number, id: string | null, reason: string): void {
    this.#refused += 1;
    appendFileSync(this.#report, `${JSON.stringify({ line, id, reason })}\n`);
  }
}

/** Of a line that is refused, so that it is found again; `null`: nobody can say. */
function idOf(line: Uint8Array): string | null {
  try {
    const value = JSON.parse(Buffer.from(line).toString("utf8")) as { readonly id?: unknown } | null;
    return typeof value?.id === "string" ? value.id : null;
  } catch {
    return null;
  }
}

/** 0 where there is no file. */
function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Of a file of JSON lines. */
export async function* fileLines(path: string, from: number): AsyncGenerator<ImportedLine> {
  let number = 0;
  for await (const line of linesOf(path)) {
    number += 1;
    if (number > from) yield number === 1 ? withoutMark(line) : line;
  }
}

/** Some programs begin a file with a mark that says that it is UTF-8. */
function withoutMark(line: ImportedLine): ImportedLine {
  return line !== "too long" && BYTE_ORDER_MARK.equals(line.subarray(0, BYTE_ORDER_MARK.length))
    ? line.subarray(BYTE_ORDER_MARK.length)
    : line;
}

/** Without their ends; a blank one is empty. */
async function* linesOf(path: string): AsyncGenerator<ImportedLine> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const taken = (end: Buffer): ImportedLine =>
    bytes + end.length > LONGEST_LINE_BYTES ? "too long" : whole([...parts, end]);
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
      yield taken(chunk.subarray(start, end));
      [parts, bytes, start] = [[], 0, end + 1];
    }
    bytes += chunk.length - start;
    if (bytes > LONGEST_LINE_BYTES) parts = [];
    else parts.push(chunk.subarray(start));
  }
  const last = taken(Buffer.alloc(0));
  if (last.length > 0) yield last;
}

function whole(parts: readonly Buffer[]): Uint8Array {
  const line = Buffer.concat(parts);
  const isBlank = line.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
  return isBlank ? new Uint8Array() : line;
}
