/**
 * A search as a program: for curl, and for Chroma's clients in TypeScript and Python. Every text is quoted for its language,
 * and the key stands in it by name only.
 */
import type { CollectionInfo } from "@sheaf/client";
import { type JsonObject, isObject } from "../parts/json-text.ts";

export interface CopiedSearch {
  readonly url: string;
  /** Of the collection, below the address. */
  readonly path: string;
  readonly info: Pick<CollectionInfo, "name" | "tenant" | "database">;
  readonly dictionary: JsonObject;
  /** The server asks for keys. */
  readonly hasKey: boolean;
}

/** Members that Chroma's searches do not have. */
const EXTENSIONS = ["mmr", "order_by", "highlight", "explain"];
const RANK_EXTENSIONS = ["$key", "$age"];

/** Why Chroma's clients cannot send it; `null`: they can. */
export function extensionIn(dictionary: JsonObject): string | null {
  const member = EXTENSIONS.find((name) => Object.hasOwn(dictionary, name));
  return member ?? RANK_EXTENSIONS.find((name) => mentions(dictionary["rank"], name)) ?? null;
}

export function asCurl({ url, path, dictionary, hasKey }: CopiedSearch): string {
  const body = JSON.stringify({ searches: [dictionary] }, null, 2);
  return [
    `curl --fail-with-body -sS ${shellText(`${url}${path}/search`)} \\`,
    ...(hasKey ? [`  -H "x-service-token: $SHEAF_KEY" \\`] : []),
    `  -H "Content-Type: application/json" -d ${shellText(body)}`,
  ].join("\n");
}

export function asTypeScript({ url, info, dictionary, hasKey }: CopiedSearch): string {
  const { hostname, port, protocol } = new URL(url);
  const options = {
    ...{ host: hostname, port: portOf(port, protocol), ssl: protocol === "https:" },
    ...{ tenant: info.tenant, database: info.database },
  };
  const members = Object.entries(options).map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`);
  return [
    `import { ChromaClient, Search } from "chromadb";`,
    "",
    "const client = new ChromaClient({",
    ...members,
    ...(hasKey ? [`  headers: { "x-chroma-token": process.env.SHEAF_KEY },`] : []),
    "});",
    `const collection = await client.getCollection({ name: ${JSON.stringify(info.name)} });`,
    `const result = await collection.search(new Search(${JSON.stringify(searchInit(dictionary), null, 2)}));`,
    "console.log(result.rows()[0]);",
  ].join("\n");
}

export function asPython({ url, info, dictionary, hasKey }: CopiedSearch): string {
  const { hostname, port, protocol } = new URL(url);
  const { where, rank, group_by: groupBy, limit, select } = dictionary;
  const members = Object.entries({ where, rank, group_by: groupBy, limit, select }).filter(
    ([, value]) => value !== undefined,
  );
  return [
    ...(hasKey ? ["import os"] : []),
    "import chromadb",
    "from chromadb import Search",
    "",
    "client = chromadb.HttpClient(",
    `    host=${pythonText(hostname)}, port=${portOf(port, protocol)}, ssl=${pythonText(protocol === "https:")},`,
    `    tenant=${pythonText(info.tenant)}, database=${pythonText(info.database)},`,
    ...(hasKey ? [`    headers={"x-chroma-token": os.environ["SHEAF_KEY"]},`] : []),
    ")",
    `collection = client.get_collection(${pythonText(info.name)}, embedding_function=None)`,
    "result = collection.search(Search(",
    ...members.map(([name, value]) => `    ${name}=${pythonText(value)},`),
    "))",
    "print(result.rows()[0])",
  ].join("\n");
}

/** As a word of a shell. */
export function shellText(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** As a literal: JSON's texts and numbers are Python's, its words are not. */
export function pythonText(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonText).join(", ")}]`;
  if (isObject(value)) {
    const members = Object.entries(value).map(
      ([key, member]) => `${JSON.stringify(key)}: ${pythonText(member)}`,
    );
    return `{${members.join(", ")}}`;
  }
  return JSON.stringify(value);
}

function searchInit({ group_by: groupBy, ...rest }: JsonObject): JsonObject {
  return groupBy === undefined ? rest : { ...rest, groupBy };
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
