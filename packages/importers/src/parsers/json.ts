/** JSON: a part for each element of a list, or for the whole, as lines of `path: value`. */
import type { ParsedFile } from "../file-parser.ts";
import { decode } from "./text.ts";

/** `JSON.parse` takes any depth that fits the stack, and what is walked below here has to, too. */
const MOST_DEPTH = 500;

export function parseJson(bytes: Uint8Array): ParsedFile {
  const value = read(decode(bytes));
  const elements = Array.isArray(value) ? (value as readonly unknown[]) : [value];
  return { title: null, parts: elements.map(textOf) };
}

export function parseJsonLines(bytes: Uint8Array): ParsedFile {
  const lines = decode(bytes)
    .split("\n")
    .filter((line) => line.trim() !== "");
  return { title: null, parts: lines.map((line) => textOf(read(line))) };
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`is no JSON: ${(error as Error).message}`, { cause: error });
  }
}

function textOf(value: unknown): string {
  const lines: string[] = [];
  addLines(value, { path: "", depth: 0, lines });
  return lines.join("\n");
}

interface Place {
  /** Names of members, with dots between them. */
  readonly path: string;
  readonly depth: number;
  readonly lines: string[];
}

function addLines(value: unknown, { path, depth, lines }: Place): void {
  if (depth > MOST_DEPTH) throw new Error(`is nested more than ${MOST_DEPTH} deep`);
  if (value === null || value === "") return;
  const below = { depth: depth + 1, lines };
  if (typeof value !== "object") {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    lines.push(path === "" ? text : `${path}: ${text}`);
  } else if (Array.isArray(value)) for (const element of value) addLines(element, { ...below, path });
  else
    for (const [key, member] of Object.entries(value))
      addLines(member, { ...below, path: path === "" ? key : `${path}.${key}` });
}
