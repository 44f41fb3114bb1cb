/**
 * Copies the records of one collection, page by page. A page counts as done when it was read back and every record of it is
 * what the source has; a record that differs is removed and written once more.
 */
import type { SheafClient } from "@sheaf/client";
import { SheafError, readJsonWithVectors } from "@sheaf/protocol";
import { type ReadLine, parseRecord } from "../record-batch.ts";
import { upsertLines } from "../upsert-lines.ts";
import type { CollectionProgress } from "./import-state.ts";
import { addChecksum, recordChecksum } from "./record-checksum.ts";

/** Columns of records, as the JSON has them; integers and floats are told apart. */
export interface RecordPage {
  readonly ids: readonly string[];
  readonly embeddings?: readonly unknown[] | null;
  readonly documents?: readonly unknown[] | null;
  readonly uris?: readonly unknown[] | null;
  readonly metadatas?: readonly unknown[] | null;
}

export interface SourcePage extends RecordPage {
  /** Records that cannot be copied, and why. */
  readonly refused?: readonly { readonly id: string; readonly reason: string }[];
  /** Records that have nothing for this collection. */
  readonly absent?: number;
  /** Where the next page begins, for a source that does not count. */
  readonly cursor?: unknown;
}

/** One collection at the source. */
export interface CopySource {
  /** Records behind those of the progress; `null`: there are none. */
  page(progress: CollectionProgress): Promise<SourcePage | null>;
  count(): Promise<number>;
}

export interface CopyRequest {
  readonly source: CopySource;
  readonly client: SheafClient;
  /** Path of the collection at Sheaf. */
  readonly target: string;
  /** Goes along with the copy. */
  readonly progress: CollectionProgress;
  /** Told after every page. */
  readonly onPage: () => void;
  /** Told of each record that cannot be taken. */
  readonly onRefusal: (id: string, reason: string) => void;
}

export const INCLUDE = ["embeddings", "documents", "metadatas", "uris"] as const;

/** @throws SheafError `failed_precondition` where a record cannot be made what the source has. */
export async function copyCollection(request: CopyRequest): Promise<void> {
  const { source, client, target, progress, onPage } = request;
  for (let first: string | undefined; ;) {
    const page = await source.page(progress);
    if (page === null) break;
    if (page.ids[0] !== undefined && page.ids[0] === first)
      throw new SheafError("failed_precondition", "the source gives the same records again and again");
    [first] = page.ids;
    const { ids, refused = [], absent = 0, cursor } = page;
    await copyPage(page, request);
    progress.done += ids.length + refused.length + absent;
    if (cursor !== undefined) progress.cursor = cursor;
    if (absent > 0) progress.absent = (progress.absent ?? 0) + absent;
    onPage();
  }
  progress.source = await source.count();
  progress.target = await client.request<number>({ method: "GET", path: `${target}/count` });
}

async function copyPage(page: SourcePage, request: CopyRequest): Promise<void> {
  const { progress, onRefusal } = request;
  const refused = new Set<string>();
  const refuse = (id: string, reason: string): void => {
    progress.refused += 1;
    refused.add(id);
    onRefusal(id, reason);
  };
  for (const { id, reason } of page.refused ?? []) refuse(id, reason);
  const lines = parsePage(page, progress.done, refuse);
  const write = (some: readonly ReadLine[]): Promise<number> =>
    upsertLines(some, {
      client: request.client,
      collection: request.target,
      refuse: ({ record }, reason) => refuse(record.id, reason),
    });
  await write(lines);
  const written = lines.filter(({ record }) => !refused.has(record.id));
  const different = await compare(written, request);
  if (different.length > 0) {
    // Something of an older copy is under these ids: an upsert keeps what the new record does not have.
    await deleteRecords(different, request);
    await write(different);
    const [still] = await compare(
      different.filter(({ record }) => !refused.has(record.id)),
      request,
    );
    if (still !== undefined)
      throw new SheafError(
        "failed_precondition",
        `record ${still.number - 1} (${JSON.stringify(still.record.id)}) is not the same after it was written`,
      );
  }
  for (const { record } of written)
    if (!refused.has(record.id)) progress.checksum = addChecksum(progress.checksum, recordChecksum(record));
}

function parsePage(
  page: RecordPage,
  offset: number,
  refuse: (id: string, reason: string) => void,
): readonly ReadLine[] {
  return page.ids.flatMap((id, i) => {
    const fields = fieldsOf(page, i);
    try {
      return [{ number: offset + i + 1, record: parseRecord(fields) }];
    } catch (error) {
      if (!(error instanceof SheafError)) throw error;
      refuse(id, error.message);
      return [];
    }
  });
}

function fieldsOf(page: RecordPage, i: number): Readonly<Record<string, unknown>> {
  return {
    id: page.ids[i],
    embedding: page.embeddings?.[i],
    document: page.documents?.[i],
    uri: page.uris?.[i],
    metadata: page.metadatas?.[i],
  };
}

/** Those that are not the same at Sheaf. */
async function compare(
  lines: readonly ReadLine[],
  { client, target }: CopyRequest,
): Promise<readonly ReadLine[]> {
  if (lines.length === 0) return [];
  const ids = lines.map(({ record }) => record.id);
  const json = { ids, limit: ids.length, include: INCLUDE };
  const text = await client.request<string>({ method: "POST", path: `${target}/get`, json, text: true });
  const page = readJsonWithVectors(Buffer.from(text)) as RecordPage;
  const there = new Map(
    page.ids.map((id, i) => [id, recordChecksum(parseRecord(fieldsOf(page, i)))] as const),
  );
  return lines.filter(({ record }) => there.get(record.id) !== recordChecksum(record));
}

async function deleteRecords(lines: readonly ReadLine[], { client, target }: CopyRequest): Promise<void> {
  const json = { ids: lines.map(({ record }) => record.id) };
  await client.request({ method: "POST", path: `${target}/delete`, json });
}
