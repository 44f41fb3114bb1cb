/**
 * What a server that writes a collection in partitions, and has none of its records, asks those that have a partition: questions
 * and answers are plain messages. An answer is of one state of the log, which it names.
 */
import type { StoreHead } from "../../record-store.ts";

export type RecordsQuestion =
  /** The first of these ids that fit into an answer, one at least. `null`: nobody wants to know what was removed. */
  | {
      readonly kind: "facts";
      readonly ids: readonly string[];
      /** Without the records themselves. */
      readonly bare: boolean;
      readonly removedAfter: number | null;
    }
  /** Ids of the records with these offsets, those that the partition has. */
  | { readonly kind: "offsets"; readonly offsets: Float64Array }
  /** Ids that chunks of these documents have. */
  | { readonly kind: "chunks"; readonly parents: readonly string[]; readonly removedAfter: number | null };

export interface AnsweredState extends StoreHead {
  /** As of `LogHead`. */
  readonly batch: string;
}

export interface RecordsAnswer {
  readonly state: AnsweredState;
  /** As of `StoreView`. */
  readonly completeFrom: number;
  /** Of facts, in the order of the ids that were asked for; -1: there is no such record. */
  readonly offsets: Float64Array;
  /** Of the values of these records; 0 where there is none. */
  readonly sizes: Float64Array;
  /** As they are in a store, one after the other; empty where the question is bare. */
  readonly values: Uint8Array;
  /** Of offsets, and of chunks: those that were found. */
  readonly ids: readonly string[];
  /** Of those that were asked for and are not there, or of the documents, which ones have lost a record since. */
  readonly removed: readonly string[];
}

/** Most ids, or offsets, of one question. */
export const MOST_ASKED = 1_024;
/** The same of documents: each may have thousands of chunks. */
export const MOST_ASKED_PARENTS = 128;

/** Asks one partition of a collection. Rejects with 503 where nobody answers in time. */
export type AskPartition = (partition: number, question: RecordsQuestion) => Promise<RecordsAnswer>;
