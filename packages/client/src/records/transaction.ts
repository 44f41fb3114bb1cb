/** Conditional transactions: reads that name the state they saw, and a commit that holds only if it still stands. */
import type { Chunking } from "../catalog/schema.ts";
import { type MembersOf, requireArray, requireKnown } from "../require-known.ts";
import { CALL, type CallOptions } from "../transport.ts";
import type { Metadata } from "./metadata.ts";
import { type RecordChange, type RecordInput, columnsOf, requireRecords } from "./write.ts";

/** Applied in order, all or none. */
export type CommitOperation<M = Metadata> =
  | { readonly operation: "add"; readonly records: readonly RecordInput<M>[]; readonly chunking?: Chunking }
  | {
      readonly operation: "upsert" | "update";
      readonly records: readonly RecordChange<M>[];
      /** How documents are cut, whatever the collection's schema says. */
      readonly chunking?: Chunking;
    }
  | { readonly operation: "delete"; readonly ids: readonly string[] };

export interface CommitParams<M = Metadata> extends CallOptions {
  /** Of the first read. Needed where `readIds` names any. */
  readonly readToken?: number | undefined;
  /** Records that must not have changed since. */
  readonly readIds?: readonly string[] | undefined;
  readonly operations: readonly CommitOperation<M>[];
}

export interface Committed {
  readonly firstInsertedRecordOffset: number | null;
  readonly recordCount: number;
}

const COMMIT: MembersOf<CommitParams> = { readToken: true, readIds: true, operations: true, ...CALL };
const OPERATION = { operation: true, records: true, ids: true, chunking: true } as const;

export function commitJson(params: CommitParams): object {
  const { readToken, readIds, operations } = requireKnown(params, COMMIT, "params");
  return {
    read_token: readToken,
    read_ids: readIds,
    operations: requireArray(operations, "params.operations").map((item, i) => {
      const path = `params.operations[${i}]`;
      requireKnown(item, OPERATION, path);
      if (item.operation === "delete") return { operation: item.operation, payload: { ids: item.ids } };
      requireRecords(item.records, `${path}.records`);
      return {
        operation: item.operation,
        payload: { ...columnsOf(item.records, false), chunking: item.chunking },
      };
    }),
  };
}
