/** A file of lines that is written beside its place until all are there, and goes on where it was interrupted. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { writeDurably } from "../storage/folder/write-durably.ts";

const LINE_END = 0x0a;
const BUFFER_CHARACTERS = 2 ** 20;
const READ_BYTES = 2 ** 20;

export class LineFile {
  /** Lines that were there already. */
  readonly resumed: number;
  readonly #to: string;
  readonly #file: number;
  #text = "";
  #position: number;

  /** @param source What is exported: lines of another are thrown away. */
  constructor(to: string, source: string) {
    this.#to = to;
    const isSame = existsSync(this.#sourceFile) && readFileSync(this.#sourceFile, "utf8") === source;
    if (!isSame) {
      rmSync(this.#part, { force: true });
      writeDurably(this.#sourceFile, source);
    }
    this.#file = openSync(this.#part, existsSync(this.#part) ? "r+" : "w+", 0o600);
    const { lines, end } = countLines(this.#file);
    ftruncateSync(this.#file, end);
    [this.resumed, this.#position] = [lines, end];
  }

  add(line: string): void {
    this.#text += `${line}\n`;
    if (this.#text.length >= BUFFER_CHARACTERS) this.#flush();
  }

  finish(): void {
    this.#flush();
    fsyncSync(this.#file);
    renameSync(this.#part, this.#to);
    rmSync(this.#sourceFile);
  }

  close(): void {
    closeSync(this.#file);
  }

  get #part(): string {
    return `${this.#to}.part`;
  }

  get #sourceFile(): string {
    return `${this.#to}.source`;
  }

  #flush(): void {
    const bytes = Buffer.from(this.#text);
    for (let from = 0; from < bytes.length;) {
      const written = writeSync(this.#file, bytes, from, bytes.length - from, this.#position);
      from += written;
      this.#position += written;
    }
    this.#text = "";
  }
}

/** How many there are, and where the last one ends. */
export function countLines(file: number): { readonly lines: number; readonly end: number } {
  const bytes = Buffer.allocUnsafe(READ_BYTES);
  let [lines, end] = [0, 0];
  for (let position = 0; ;) {
    const read = readSync(file, bytes, 0, READ_BYTES, position);
    if (read === 0) return { lines, end };
    for (let at = bytes.indexOf(LINE_END); at >= 0 && at < read; at = bytes.indexOf(LINE_END, at + 1))
      [lines, end] = [lines + 1, position + at + 1];
    position += read;
  }
}
