/** What `manifest.jsonl` of an exported tenant says, line by line. */
import { createReadStream, lstatSync } from "node:fs";
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
    const { format, version, tenant, resource_name: resourceName } = parse(text, at(folder, 1));
    if (format !== FORMAT || typeof tenant !== "string" || typeof version !== "number") break;
    if (version > VERSION) throw refused(at(folder), `was made by a newer Sheaf (export format ${version})`);
    return { tenant, resourceName: typeof resourceName === "string" ? resourceName : null };
  }
  throw refused(at(folder), "describes no exported tenant");
}

/** What comes behind the head. @throws SheafError `failed_precondition` */
export async function* readManifest(folder: string): AsyncGenerator<ManifestLine> {
  let number = 0;
  for await (const text of linesOf(folder)) {
    number += 1;
    if (number > 1) yield manifestLine(text, at(folder, number));
  }
}

/** @param where For messages. */
function manifestLine(text: string, where: string): ManifestLine {
  const { format, file, records, database, collection } = parse(text, where);
  if (format !== undefined) throw refused(where, "is a second head, as of two exports in one file");
  if (typeof database !== "string") throw refused(where, "names no database");
  if (collection === undefined) return { database };
  const { name, dimension } = collection as { readonly name?: unknown; readonly dimension?: unknown };
  const from = text.indexOf(DESCRIPTION);
  const isWhole =
    typeof file === "string" &&
    COLLECTION_FILE.test(file) &&
    typeof records === "number" &&
    typeof name === "string" &&
    from > 0;
  if (!isWhole) throw refused(where, "describes no collection");
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

function parse(text: string, where: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch (cause) {
    throw refused(where, "is no JSON", cause);
  }
  throw refused(where, "is no object");
}

function linesOf(folder: string): AsyncIterable<string> {
  const path = join(folder, EXPORT_MANIFEST);
  if (lstatSync(path).isFile())
    return createInterface({ input: createReadStream(path), crlfDelay: Infinity });
  throw refused(at(folder), "is no file");
}

function at(folder: string, line?: number): string {
  const path = join(folder, EXPORT_MANIFEST);
  return line === undefined ? path : `${path}: line ${line}`;
}

function refused(where: string, problem: string, cause?: unknown): SheafError {
  return new SheafError("failed_precondition", `${where} ${problem}`, { cause });
}
