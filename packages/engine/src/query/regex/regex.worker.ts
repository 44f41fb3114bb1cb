/**
 * A thread that compiles regular expressions and runs them over documents: one task at a time, in the order of the
 * messages. It may be terminated in the middle of any, so it holds nothing that has to be put back. Expressions stay
 * compiled until the memory they are in has grown too far.
 */
import assert from "node:assert/strict";
import { parentPort } from "node:worker_threads";
import { collectGarbage } from "../../index/collect-garbage.ts";
import type { TrigramQuery } from "../../segment/trigrams/trigram-query.ts";
import { findRanges } from "../highlight/find-ranges.ts";
import type { SoughtClause } from "../highlight/sought-clauses.ts";
import { type Regex, RegexInstance } from "./regex-module.ts";
import { requiredTrigrams } from "./required-trigrams.ts";

export type RegexTask =
  | { readonly type: "check"; readonly patterns: readonly string[] }
  /** `ends`: where each document ends in `text`, UTF-8 from 0. */
  | {
      readonly type: "match";
      readonly pattern: string;
      readonly text: Uint8Array<ArrayBuffer>;
      readonly ends: Uint32Array<ArrayBuffer>;
    }
  /** As `match`. */
  | {
      readonly type: "find";
      readonly clauses: readonly SoughtClause[];
      readonly text: Uint8Array<ArrayBuffer>;
      readonly ends: Uint32Array<ArrayBuffer>;
    };

/** What every match of a pattern has, or why there is no such expression. */
export type CheckedPattern = { readonly required: TrigramQuery } | { readonly problem: string };

export interface RegexReplies {
  /** One by one up to the first with a problem. */
  readonly check: readonly CheckedPattern[];
  /** By document, 1 if it matches. */
  readonly match: Uint8Array;
  /** By document, as of `findRanges`. */
  readonly find: readonly Uint32Array[];
}

/** An instance begins anew above it. One expression takes up to 110 MiB, with what its compiling and search need. */
const MAX_INSTANCE_BYTES = 64 * 1024 * 1024;

assert(parentPort !== null, "regex.worker runs as a worker thread");
const port = parentPort;
let instance: RegexInstance | null = null;
const compiled = new Map<string, Regex>();

port.on("message", (task: RegexTask) => {
  port.postMessage(answer(task), []);
});

function answer(task: RegexTask): RegexReplies[RegexTask["type"]] {
  switch (task.type) {
    case "check":
      return check(task.patterns);
    case "match":
      return match(task);
    case "find":
      break;
  }
  const { clauses, text, ends } = task;
  return findRanges([...documentsOf(text, ends)], clauses, compile);
}

function check(patterns: readonly string[]): CheckedPattern[] {
  const checked: CheckedPattern[] = [];
  for (const pattern of patterns) {
    try {
      checked.push({ required: requiredTrigrams(compile(pattern).syntax()) });
    } catch (error) {
      // An instance that trapped is in no state to be used; what the library refuses is an error and no trap.
      if (!(error instanceof Error) || error.name !== "Error") throw error;
      checked.push({ problem: error.message });
      break;
    }
  }
  return checked;
}

function match({ pattern, text, ends }: Extract<RegexTask, { type: "match" }>): Uint8Array {
  const regex = compile(pattern);
  const matches = new Uint8Array(ends.length);
  let i = 0;
  for (const document of documentsOf(text, ends)) matches[i++] = regex.isMatch(document) ? 1 : 0;
  return matches;
}

function* documentsOf(text: Uint8Array, ends: Uint32Array): Generator<Uint8Array> {
  let start = 0;
  for (const end of ends) {
    yield text.subarray(start, end);
    start = end;
  }
}

function compile(pattern: string): Regex {
  if (instance !== null && instance.bytes > MAX_INSTANCE_BYTES) {
    compiled.clear();
    instance = null;
    collectGarbage();
  }
  instance ??= new RegexInstance();
  let regex = compiled.get(pattern);
  if (regex === undefined) {
    regex = instance.compile(pattern);
    compiled.set(pattern, regex);
  }
  return regex;
}
