/**
 * A search as a program: for curl, for the client of TypeScript, and for Chroma's Search API in Python, where `sheaf_client` has
 * the server embed texts. Every text is quoted for its language, and the key stands in it by name only.
 */
import type { CollectionInfo } from "@sheaf/client";
import { type JsonObject, isObject } from "../parts/json-text.ts";
import { pythonRank } from "./python-rank.ts";
import { pythonText } from "./python-text.ts";

export interface CopiedSearch {
  readonly url: string;
  /** Of the collection, below the address. */
  readonly path: string;
  readonly info: Pick<CollectionInfo, "name" | "tenant" | "database">;
  readonly dictionary: JsonObject;
  /** The server asks for keys. */
  readonly hasKey: boolean;
}

/** Members that Chroma's searches have. */
const MEMBERS: ReadonlySet<string> = new Set(["where", "rank", "group_by", "limit", "select"]);
const RANK_EXTENSIONS = ["$key", "$age"];

/** Why Chroma's Search API cannot say it; `null`: it can. */
export function extensionIn(dictionary: JsonObject): string | null {
  const member = Object.keys(dictionary).find((name) => !MEMBERS.has(name));
  const { rank } = dictionary;
  const operator = RANK_EXTENSIONS.find((name) => mentions(rank, name));
  const isSaid = rank === undefined || pythonRank(rank) !== null;
  return member ?? operator ?? (isSaid ? null : "such a rank");
}

export function asCurl({ url, path, dictionary, hasKey }: CopiedSearch): string {
  const body = JSON.stringify({ searches: [dictionary] }, null, 2);
  return [
    `curl --fail-with-body -sS ${shellText(`${url}${path}/search`)} \\`,
    ...(hasKey ? [`  -H "x-service-token: $SHEAF_KEY" \\`] : []),
    `  -H "Content-Type: application/json" -d ${shellText(body)}`,
  ].join("\n");
}

export function asTypeScript({ url, path, dictionary, hasKey }: CopiedSearch): string {
  const request = { method: "POST", path: `${path}/search`, json: { searches: [dictionary] } };
  return [
    'import { SheafClient } from "@sheaf/client";',
    "",
    `const client = new SheafClient({ url: ${JSON.stringify(url)}${hasKey ? ", key: process.env.SHEAF_KEY" : ""} });`,
    `const found = await client.request(${typeScriptText(request)});`,
    // Of no type that a compiler knows: it is what the server sends.
    "console.log(JSON.stringify(found, null, 2));",
  ].join("\n");
}

export function asPython({ url, info, dictionary, hasKey }: CopiedSearch): string {
  const { hostname, pathname, port, protocol } = new URL(url);
  // Chroma's client takes an address for a host, and needs one where a prefix stands behind it.
  const host = pathname === "/" ? hostname : url;
  const { where, rank, group_by: groupBy, limit, select } = dictionary;
  const members = Object.entries({ where, group_by: groupBy, limit, select }).filter(
    ([, value]) => value !== undefined,
  );
  const ranked = rank === undefined ? [] : [`    rank=${pythonRank(rank) ?? "None"},`];
  return [
    ...(hasKey ? ["import os"] : []),
    "import chromadb",
    "import sheaf_client",
    "from chromadb import Knn, Search",
    "from chromadb.execution.expression.operator import Val",
    "",
    "client = chromadb.HttpClient(",
    `    host=${pythonText(host)}, port=${portOf(port, protocol)}, ssl=${pythonText(protocol === "https:")},`,
    `    tenant=${pythonText(info.tenant)}, database=${pythonText(info.database)},`,
    ...(hasKey ? [`    headers={"x-chroma-token": os.environ["SHEAF_KEY"]},`] : []),
    ")",
    "sheaf_client.use_client(client)",
    `collection = client.get_collection(${pythonText(info.name)})`,
    "found = collection.search(Search(",
    ...ranked,
    ...members.map(([name, value]) => `    ${name}=${pythonText(value)},`),
    "))",
    'print(found["ids"][0])',
  ].join("\n");
}

/** As a literal of JavaScript, in which a member of this name would be the prototype. */
export function typeScriptText(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/(?<!\\)"__proto__"(?=\s*:)/gu, '["__proto__"]');
}

/** As a word of a shell. */
export function shellText(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function portOf(port: string, protocol: string): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}

function mentions(node: unknown, name: string): boolean {
  if (Array.isArray(node)) return node.some((child) => mentions(child, name));
  if (!isObject(node)) return false;
  return Object.hasOwn(node, name) || Object.values(node).some((child) => mentions(child, name));
}
