/** A commit that depends on what its caller has read, by the token of that read. */
import type { CancelSignal, CollectionRef, CommitRequest, CommitResult } from "@sheaf/protocol";
import type { Catalog } from "../../catalog/catalog.ts";
import { staleRead } from "../check-unchanged.ts";
import { oldestTracked } from "../../storage/record-store.ts";
import type { OpenCollection } from "../open-collection.ts";
import { isTokenOf, readSequence, tokenScope, tokenState } from "../read-token.ts";

/** As the engine's `commit`. */
export async function commitTo(
  collection: Pick<OpenCollection, "commit" | "head" | "logged">,
  ref: CollectionRef,
  { token, readIds, operations }: CommitRequest,
  { catalog, signal }: { readonly catalog: Catalog; readonly signal: CancelSignal },
): Promise<CommitResult> {
  if (token === null) return collection.commit(null, operations, signal);
  const scope = await tokenScope(catalog, ref);
  const sequence = readSequence(token, collection.head.sequence);
  if (sequence !== null && sequence < oldestTracked(collection.head))
    throw staleRead("names no state that the collection still knows");
  const state = sequence === null ? null : await tokenState(collection, sequence);
  if (state === null || !isTokenOf(scope, state, token))
    throw staleRead("names no state of this collection and epoch");
  return collection.commit({ ids: readIds, sequence: state.sequence }, operations, signal);
}
