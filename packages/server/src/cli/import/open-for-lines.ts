/** The collection that JSON lines go to: one that is there, or one like that from which they were exported. */
import { existsSync, readFileSync } from "node:fs";
import { type Collection, NotFoundError, type SheafClient } from "@sheaf/client";
import { SettingError } from "../../settings/setting-error.ts";

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
  try {
    return await client.getCollection({ name });
  } catch (error) {
    if (!create || !(error instanceof NotFoundError)) throw error;
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
