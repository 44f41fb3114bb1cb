/** What `manifest.jsonl` of an exported tenant says, line by line. */
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { EXPORT_MANIFEST } from "@sheaf/engine";
import { SheafError } from "@sheaf/protocol";

const FORMAT = "sheaf-tenant";
const VERSION = 1;
/** Names the part of a line that goes to the server as it stands, so that its numbers stay what they are. */
const DESCRIPTION = ',"collection":';
/** Of a file name that stays in the folder. */
const COLLECTION_FILE = /^collections\/[0-9a-f-]{36}\.jsonl$/u;

export interface ExportHead {
  readonly tenant: string;
  readonly resourceName: string | null;
}

export interface ExportedCollectionLine {
  readonly file: string;
  readonly records: number;
  readonly database: string;
  readonly name: string;
  readonly dimension: number | null;
  /** JSON of the collection, as the server says it. */
  readonly description: string;
}

export type ManifestLine = { readonly database: string } | ExportedCollectionLine;

/** @throws SheafError `failed_precondition` for a folder that this version does not read. */
export async function readHead(folder: string): Promise<ExportHead> {
  for await (const text of linesOf(folder)) {
    const { format, version, tenant, resource_name: resourceName } = parse(folder, text);
    if (format !== FORMAT || typeof tenant !== "string" || typeof version !== "number") break;
    if (version > VERSION) throw refused(folder, `was made by a newer Sheaf (export format ${version})`);
    return { tenant, resourceName: typeof resourceName === "string" ? resourceName : null };
  }
  throw refused(folder, "describes no exported tenant");
}

/** What comes behind the head. @throws SheafError `failed_precondition` */
export async function* readManifest(folder: string): AsyncGenerator<ManifestLine> {
  let isHead = true;
  for await (const text of linesOf(folder)) {
    if (!isHead) yield manifestLine(folder, text);
    isHead = false;
  }
}

function manifestLine(folder: string, text: string): ManifestLine {
  const { file, records, database, collection } = parse(folder, text);
  if (typeof database !== "string") throw refused(folder, "has a line without a database");
  if (collection === undefined) return { database };
  const { name, dimension } = collection as { readonly name?: unknown; readonly dimension?: unknown };
  const from = text.indexOf(DESCRIPTION);
  const isWhole =
    typeof file === "string" &&
    COLLECTION_FILE.test(file) &&
    typeof records === "number" &&
    typeof name === "string" &&
    from > 0;
  if (!isWhole) throw refused(folder, "has a line that describes no collection");
  const description = text.slice(from + DESCRIPTION.length, -1);
  return {
    file,
    records,
    database,
    name,
    dimension: typeof dimension === "number" ? dimension : null,
    description,
  };
}

function parse(folder: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch (cause) {
    throw refused(folder, "has a line that is no JSON", cause);
  }
  throw refused(folder, "has a line that is no object");
}

function linesOf(folder: string): AsyncIterable<string> {
  return createInterface({ input: createReadStream(join(folder, EXPORT_MANIFEST)), crlfDelay: Infinity });
}

function refused(folder: string, problem: string, cause?: unknown): SheafError {
  return new SheafError("failed_precondition", `${join(folder, EXPORT_MANIFEST)} ${problem}`, { cause });
}
