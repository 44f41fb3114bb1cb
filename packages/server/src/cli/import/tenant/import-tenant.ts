/** Makes a tenant out of a folder that `sheaf export --tenant` wrote: databases, collections and their records. */
import { randomUUID } from "node:crypto";
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { ConflictError, SheafApiError, type SheafClient } from "@sheaf/client";
import { SheafError } from "@sheaf/protocol";
import { fileLines, importLines } from "../import-lines.ts";
import { type ExportedCollectionLine, readHead, readManifest } from "./tenant-manifest.ts";
import type { CollectionState, TenantState } from "./tenant-state.ts";

export interface TenantImport {
  readonly folder: string;
  /** Name at the server. */
  readonly tenant: string;
  readonly client: SheafClient;
  readonly state: TenantState;
  readonly onProgress: (collections: number, records: number) => void;
}

const FORBIDDEN = 403;
const NOT_FOUND = 404;

/**
 * A collection that is there already is an error, unless an earlier run of this import made it: what it holds would be
 * mixed with what is imported.
 */
export async function importTenant(run: TenantImport): Promise<void> {
  const { client, tenant, folder, state } = run;
  const { resourceName } = await readHead(folder);
  const path = `/api/v2/tenants/${encodeURIComponent(tenant)}`;
  await unlessThere(client.createTenant({ name: tenant }));
  if (resourceName !== null)
    // Another tenant of this server may have it, as where one is copied beside itself.
    await unlessThere(client.request({ method: "PATCH", path, json: { resource_name: resourceName } }));
  for await (const line of readManifest(folder)) {
    const databasePath = `${path}/databases/${encodeURIComponent(line.database)}`;
    if (!("file" in line))
      await unlessThere(client.scoped({ tenant }).createDatabase({ name: line.database }));
    else if (state.find(line.file)?.isDone !== true)
      await importOne(run, line, `${databasePath}/collections`);
  }
}

async function importOne(run: TenantImport, line: ExportedCollectionLine, path: string): Promise<void> {
  const { client, state, folder, onProgress } = run;
  const progress = await makeCollection(run, line, path);
  const collection = `${path}/${progress.id}`;
  const { collections, written } = state.totals;
  const file = join(folder, line.file);
  // A link may lead out of the folder.
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new SheafError("failed_precondition", `${file} is missing, or no file`);
  const imported = await importLines({
    ...{ path: file, key: collection, lines: (from) => fileLines(file, from), client, collection },
    onProgress: (records) => onProgress(collections, written + records),
  });
  progress.refused = imported.refused;
  const count = await client.request<number>({ method: "GET", path: `${collection}/count` });
  const expected = line.records - progress.refused;
  if (count !== expected)
    throw new SheafError(
      "failed_precondition",
      `${line.database}/${line.name} has ${count} records and not ${expected}: is ${line.file} as it was exported, ` +
        "and does nothing else write there?",
    );
  if (count === 0 && line.dimension !== null) await fixDimension(client, collection, line.dimension);
  progress.written = count;
  progress.isDone = true;
  state.save();
}

/** One that this import has made, now or in an earlier run. */
async function makeCollection(
  { client, state, tenant }: TenantImport,
  line: ExportedCollectionLine,
  path: string,
): Promise<CollectionState> {
  const known = state.find(line.file);
  if (typeof known?.id === "string") return known;
  if (known === undefined && (await isThere(client, `${path}/${encodeURIComponent(line.name)}`)))
    throw new SheafError(
      "already_exists",
      `${line.database}/${line.name} exists already; delete it first, with: sheaf collections delete ${line.name} ` +
        `--tenant ${tenant} --database ${line.database} (back it up before), or name another tenant with --tenant`,
    );
  const progress = known ?? state.begin(line.file);
  state.save();
  const body = line.description.replace(/\}$/u, ',"get_or_create":true}');
  const made = await client.request<{ readonly id: string }>({ method: "POST", path, body });
  progress.id = made.id;
  state.save();
  return progress;
}

/** The first vector fixes it, and it stays when that is deleted. */
async function fixDimension(client: SheafClient, collection: string, dimension: number): Promise<void> {
  const ids = [randomUUID()];
  const embeddings = [Array.from({ length: dimension }, () => 1)];
  await client.request({ method: "POST", path: `${collection}/add`, json: { ids, embeddings } });
  await client.request({ method: "POST", path: `${collection}/delete`, json: { ids } });
}

async function isThere(client: SheafClient, path: string): Promise<boolean> {
  try {
    await client.request({ method: "GET", path });
    return true;
  } catch (error) {
    if (error instanceof SheafApiError && error.status === NOT_FOUND) return false;
    throw error;
  }
}

/** A key that may not make tenants or databases can do with those that are there. */
export async function unlessThere(made: Promise<unknown>): Promise<void> {
  try {
    await made;
  } catch (error) {
    const mayNot = error instanceof SheafApiError && error.status === FORBIDDEN;
    if (!(error instanceof ConflictError) && !mayNot) throw error;
  }
}
