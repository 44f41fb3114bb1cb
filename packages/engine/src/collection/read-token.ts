/**
 * Read tokens: one integer that names a state of a collection. Clients keep it as a JSON number, so it has 53 bits: the
 * lower 33 bits of the state's sequence number, then 20 bits of a keyed hash over everything else that tells states
 * apart: the collection, its epoch, and the rest of the sequence number. The epoch is random and never shown; it is the
 * key.
 *
 * A token grants nothing: a wrong one that is taken for right makes a commit check ids against another state than was
 * read. For that it must come from another collection or epoch, or from 2^33 operations ago, have the hash of this one
 * by chance, once in 2^20 (1,048,576) such tokens, and name one of the newest states, whose changes are still known
 * (`LIMITS.trackedOperations`). Every other one is stale.
 */
import { createHmac } from "node:crypto";
import type { CollectionRef, ReadToken } from "@sheaf/protocol";
import type { Catalog } from "../catalog/catalog.ts";

const HASH_BITS = 20;
const HASHES = 2 ** HASH_BITS;
const SEQUENCES = 2 ** 33;

/** Which states a sequence number is one of. */
export interface TokenScope {
  /** Id of the collection. */
  readonly collection: string;
  /** Changes when the collection's past is replaced: by a restore, say. */
  readonly epoch: string;
}

export async function tokenScope(catalog: Catalog, ref: CollectionRef): Promise<TokenScope> {
  return { collection: ref.id, epoch: await catalog.epoch(ref) };
}

/** The token of the state after the operation `sequence`. */
export function makeReadToken(scope: TokenScope, sequence: number): ReadToken {
  return (sequence % SEQUENCES) * HASHES + hash(scope, sequence);
}

/**
 * The sequence number of a token's state; `null` where it is of another scope, or newer than `newest`.
 *
 * @param newest The newest sequence number there is: the token's is the nearest below that ends alike.
 */
export function readSequence(scope: TokenScope, token: ReadToken, newest: number): number | null {
  const behind = (newest - Math.floor(token / HASHES)) % SEQUENCES;
  const sequence = newest - (behind < 0 ? behind + SEQUENCES : behind);
  return sequence >= 0 && hash(scope, sequence) === token % HASHES ? sequence : null;
}

function hash({ collection, epoch }: TokenScope, sequence: number): number {
  const digest = createHmac("sha256", epoch)
    .update(`${collection} ${Math.floor(sequence / SEQUENCES)}`)
    .digest();
  return digest.readUInt32BE() % HASHES;
}
