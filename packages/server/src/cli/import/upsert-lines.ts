/** Writes records in one request, and finds those that are the reason where it is refused. */
import { SheafApiError, type SheafClient } from "@sheaf/client";
import { type ReadLine, isWhole, upsertBody } from "./record-batch.ts";

export interface UpsertTarget {
  readonly client: Pick<SheafClient, "request">;
  /** Path of the collection at the server. */
  readonly collection: string;
  /** Told of each record that the server takes in no company, with the server's reason. */
  readonly refuse: (line: ReadLine, reason: string) => void;
}

/** A batch with one of these is not about its records. */
const OF_THE_CALL: ReadonlySet<number> = new Set([401, 403, 404, 429]);
const SERVER_ERROR = 500;
/** Where the one record of a request is named; a line has the member without the list. */
const OF_ONE = /^(id|embedding|document|uri|metadata)s\[0\]/u;

/** Whether a refusal is about what was sent, and not about who sent it, where to, or the state of the server. */
export function isAboutRecords(error: unknown): error is SheafApiError {
  return error instanceof SheafApiError && !OF_THE_CALL.has(error.status) && error.status < SERVER_ERROR;
}

/**
 * Where a batch is refused, its halves are tried, down to the records that are the reason. Gives how many were written.
 * Records with vectors, and chunks, are not cut again where the collection cuts documents.
 */
export async function upsertLines(lines: readonly ReadLine[], target: UpsertTarget): Promise<number> {
  const whole = lines.filter(({ record }) => isWhole(record));
  const others = lines.filter(({ record }) => !isWhole(record));
  return (await upsertAlike(whole, target, { by: "none" })) + (await upsertAlike(others, target));
}

async function upsertAlike(
  lines: readonly ReadLine[],
  target: UpsertTarget,
  chunking?: { readonly by: "none" },
): Promise<number> {
  if (lines.length === 0) return 0;
  const { client, collection, refuse } = target;
  try {
    const body = upsertBody(lines, chunking);
    await client.request({ method: "POST", path: `${collection}/upsert`, body });
    return lines.length;
  } catch (error) {
    if (!isAboutRecords(error)) throw error;
    const [first] = lines;
    if (lines.length === 1 && first !== undefined) {
      refuse(first, error.message.replace(OF_ONE, "$1"));
      return 0;
    }
    const half = lines.length >> 1;
    const written = await upsertAlike(lines.slice(0, half), target, chunking);
    return written + (await upsertAlike(lines.slice(half), target, chunking));
  }
}
