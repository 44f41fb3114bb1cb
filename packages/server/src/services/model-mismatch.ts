/** The refusal of a call that would mix vectors of two weights: names both, and the command that accepts the new ones. */
import {
  type Collection,
  type CollectionModels,
  DEFAULT_DATABASE,
  DEFAULT_TENANT,
  type ModelIdentity,
  SheafError,
} from "@sheaf/protocol";

/** Characters of a digest that tell two weights apart. */
const SHOWN_DIGEST = "sha256:".length + 12;
const PLAIN_WORD = /^[\w.+-]+$/u;

/** 409 where the collection remembers other weights of this model than the server has now. */
export function requireSameWeights(
  collection: Collection,
  now: ModelIdentity,
  remembered: CollectionModels = collection.models,
): void {
  const before = remembered[now.identifier];
  if (before === undefined || before.digest === now.digest) return;
  throw new SheafError(
    "model_mismatch",
    `the vectors of collection [${collection.name}] were made with ${now.identifier}, ${weightsOf(before)}; this ` +
      `server has ${weightsOf(now)}, whose vectors cannot be compared with those. Serve the former weights again, or ` +
      `accept the new ones with \`${acceptCommand(collection)}\``,
  );
}

function weightsOf({ revision, digest }: ModelIdentity): string {
  return `revision ${revision} (${digest.slice(0, SHOWN_DIGEST)})`;
}

function acceptCommand({ name, tenant, database }: Collection): string {
  const words = ["sheaf", "collections", "accept-model", name];
  if (tenant !== DEFAULT_TENANT) words.push("--tenant", shellWord(tenant));
  if (database !== DEFAULT_DATABASE) words.push("--database", database);
  return words.join(" ");
}

/** Names of tenants hold nearly anything; those of databases and collections need no quotes. */
function shellWord(text: string): string {
  return PLAIN_WORD.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
