/** A commit that depends on what its caller has read, by the token of that read. */
import type { CancelSignal, CollectionRef, CommitRequest, CommitResult } from "@sheaf/protocol";
import type { Catalog } from "../../catalog/catalog.ts";
import { staleRead } from "../check-unchanged.ts";
import type { OpenCollection } from "../open-collection.ts";
import { readSequence, tokenScope } from "../read-token.ts";

/** As the engine's `commit`. */
export async function commitTo(
  collection: Pick<OpenCollection, "commit" | "head">,
  ref: CollectionRef,
  { token, readIds, operations }: CommitRequest,
  { catalog, signal }: { readonly catalog: Catalog; readonly signal: CancelSignal },
): Promise<CommitResult> {
  if (token === null) return collection.commit(null, operations, signal);
  const scope = await tokenScope(catalog, ref);
  const sequence = readSequence(scope, token, collection.head.sequence);
  if (sequence === null) throw staleRead("names no state of this collection and epoch");
  return collection.commit({ ids: readIds, sequence }, operations, signal);
}
