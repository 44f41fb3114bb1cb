/**
 * The bodies of conditional transactions: `POST .../conditional/get` reads like `get` and takes the token of an
 * earlier read; `POST .../conditional/commit` names what was read and holds the operations.
 */
import { SheafError, invalid } from "../errors.ts";
import {
  integerOf,
  itemPath,
  itemsOf,
  listOf,
  membersOf,
  memberPath,
  optional,
  required,
  stringOf,
  type Members,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { CommitOperation, CommitRequest, CommitResult, GetRequest, ReadToken } from "./ast.ts";
import { parseDeleteRequest } from "./delete-request.ts";
import { parseGetRequest } from "./get-request.ts";
import { parseWriteRequest } from "./write-request.ts";

const OPERATIONS = ["add", "update", "upsert", "delete"] as const;

export interface ReadRequest {
  readonly get: GetRequest;
  /** `null`: the first read of a transaction. */
  readonly token: ReadToken | null;
}

/** @throws SheafError as `parseGetRequest` does, and 400 for a token that is none. */
export function parseReadRequest(body: unknown): ReadRequest {
  return Object.freeze({ get: parseGetRequest(body), token: parseToken(membersOf(body, "")) });
}

/**
 * @throws SheafError 422 for wrong JSON types and missing members; 400 for a token that is none, read ids without a
 * token, a delete by anything but ids, bounds, and what the writes of these kinds refuse.
 */
export function parseCommitRequest(body: unknown): CommitRequest {
  const members = membersOf(body, "");
  const token = parseToken(members);
  const readIds = parseReadIds(optional(members, "read_ids"));
  if (token === null && readIds.length > 0) {
    throw invalid("read_token", "conditional commit with read_ids requires read_token");
  }
  return Object.freeze({ token, readIds, operations: parseOperations(members) });
}

export function writeCommitResult({ firstSequence, recordCount }: CommitResult): string {
  return JSON.stringify({ first_inserted_record_offset: firstSequence, record_count: recordCount });
}

function parseToken(members: Members): ReadToken | null {
  const value = optional(members, "read_token");
  if (value === undefined) return null;
  const token = integerOf(value, "read_token");
  if (token < 0 || token > Number.MAX_SAFE_INTEGER) throw invalid("read_token", "is not a read token");
  return token;
}

function parseReadIds(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const ids = itemsOf(value, "read_ids").map((id, index) => stringOf(id, itemPath("read_ids", index)));
  if (ids.length > LIMITS.readIdsPerCommit) {
    throw invalid("read_ids", `holds ${ids.length} ids, the limit is ${LIMITS.readIdsPerCommit}`);
  }
  return ids;
}

function parseOperations(members: Members): readonly CommitOperation[] {
  const items = itemsOf(required(members, "operations", ""), "operations");
  if (items.length > LIMITS.operationsPerCommit) {
    throw invalid("operations", `holds ${items.length}, the limit is ${LIMITS.operationsPerCommit}`);
  }
  const operations = items.map((item, index) => parseOperation(item, itemPath("operations", index)));
  const records = operations.reduce((sum, operation) => sum + recordsOf(operation), 0);
  if (records > LIMITS.recordsPerWrite) {
    throw invalid("operations", `hold ${records} records, the limit is ${LIMITS.recordsPerWrite}`);
  }
  return operations;
}

function recordsOf(operation: CommitOperation): number {
  return operation.kind === "delete" ? operation.ids.length : operation.records.length;
}

function parseOperation(value: unknown, path: string): CommitOperation {
  const members = membersOf(value, path);
  const name = stringOf(required(members, "operation", path), memberPath(path, "operation"));
  const kind = OPERATIONS.find((operation) => operation === name);
  if (kind === undefined) throw invalid(memberPath(path, "operation"), `must be ${listOf(OPERATIONS)}`);
  const payloadPath = memberPath(path, "payload");
  const payload = membersOf(required(members, "payload", path), payloadPath);
  return below(payloadPath, () =>
    kind === "delete" ? parseDelete(payload) : parseWriteRequest(kind, payload),
  );
}

function parseDelete(payload: Members): CommitOperation {
  const { ids, where } = parseDeleteRequest(payload);
  if (where !== null || ids === null) {
    throw invalid("where", "a conditional commit deletes by ids only");
  }
  return Object.freeze({ kind: "delete", ids });
}

/** Runs a parser of a body that stands inside another one: its errors name the whole path. */
function below<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof SheafError)) throw error;
    throw new SheafError(error.code, `${path}.${error.message}`, { cause: error });
  }
}
