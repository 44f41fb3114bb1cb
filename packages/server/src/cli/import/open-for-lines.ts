/** The collection that JSON lines go to: one that is there, or one like that from which they were exported. */
import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs";
import { type Collection, NotFoundError, type SheafClient } from "@sheaf/client";
import { SheafError } from "@sheaf/protocol";
import { SettingError } from "../../settings/setting-error.ts";
import { isTable } from "./table-lines.ts";

const FIRST_BYTES = 1_024;

export interface LinesTarget {
  readonly name: string;
  /** Path of the collections of its database at the server. */
  readonly collections: string;
  /** The file of lines. */
  readonly path: string;
  /** Whether the collection is made if it does not exist. */
  readonly create: boolean;
}

/** @throws SettingError where `FILE.collection.json` describes no collection. */
export async function openForLines(
  client: SheafClient,
  { name, collections, path, create }: LinesTarget,
): Promise<Pick<Collection, "id">> {
  if (!isTable(path)) requireLines(path);
  if (!create) return existingCollection(client, name);
  try {
    return await client.getCollection({ name });
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
  const description = `${path}.collection.json`;
  if (existsSync(description)) {
    const body = bodyFor(name, description);
    return client.request({ method: "POST", path: collections, body });
  }
  console.error(
    `${description} is missing, so ${name} gets no embedding function and no sparse index: only lines with vectors fit`,
  );
  return client.createCollection({ name, getOrCreate: true });
}

/** @throws SheafError 404 that says how it can be made. */
export async function existingCollection(client: SheafClient, name: string): Promise<Collection> {
  try {
    return await client.getCollection({ name });
  } catch (cause) {
    if (!(cause instanceof NotFoundError)) throw cause;
    throw new SheafError("not_found", `${cause.message}; --create makes the collection`, { cause });
  }
}

/** A file of something else has every line refused, and a report of that beside it. */
function requireLines(path: string): void {
  if (/\.(?:jsonl|ndjson|json)$/iu.test(path)) return;
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(FIRST_BYTES);
    const start = bytes.toString("utf8", 0, readSync(file, bytes, 0, FIRST_BYTES, 0)).trimStart();
    if (start === "" || start.startsWith("{")) return;
  } finally {
    closeSync(file);
  }
  throw new SettingError(`${path} holds no JSON lines; of other files name the folder that they are in`);
}

/** The text is sent as it is: parsing it would change kinds of numbers. */
function bodyFor(name: string, path: string): string {
  const text = readFileSync(path, "utf8").trim();
  if (!describesCollection(text))
    throw new SettingError(`${path} is not what \`sheaf export\` writes of a collection`);
  return `{"name":${JSON.stringify(name)},"get_or_create":true,${text.slice(1)}`;
}

function describesCollection(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return false;
    return "schema" in value || "configuration" in value;
  } catch {
    return false;
  }
}
