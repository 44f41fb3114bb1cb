/**
 * Two routes take a collection's name where all others take its id. A caller who sends the id there is told so, and
 * told the name.
 */
import type { CollectionName } from "@sheaf/engine";
import { SheafError } from "@sheaf/protocol";
import { isCollectionId } from "../http/path-params.ts";
import type { EngineSource } from "../request/engine-source.ts";

/**
 * Passes on what `found` gives. Its 404 says more where the name is the id of a collection of the same database: `instead`
 * says what to send.
 */
export async function explainMissingName<T>(
  engine: EngineSource,
  { tenant, database, name }: CollectionName,
  found: Promise<T>,
  instead: (name: string, id: string) => string,
): Promise<T> {
  try {
    return await found;
  } catch (error) {
    const isMissing = error instanceof SheafError && error.code === "not_found";
    if (!isMissing || !isCollectionId(name)) throw error;
    const id = name.toLowerCase();
    const named = await engine()
      .getCollection({ tenant, database, id })
      .catch(() => null);
    if (named === null) throw error;
    const hint = `this is the id of the collection [${named.name}], and this route takes a name; ${instead(named.name, id)}`;
    throw new SheafError("not_found", `${error.message}: ${hint}`, { cause: error });
  }
}
