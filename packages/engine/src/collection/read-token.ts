/**
 * Read tokens: one integer that names a state of a collection. Clients keep it as a JSON number, so it has 53 bits: the
 * lower 33 bits of the state's sequence number, then 20 bits of a keyed hash over everything else that tells states
 * apart: the collection, its epoch, the rest of the sequence number, and, where a log says what the collection holds, the
 * batch that the state is of. The epoch is random and never shown; it is the key.
 *
 * The batch is what a database that was set back to an earlier time does not give out again: its catalog, and so the epoch,
 * is set back with the log, and the same sequence number comes to stand for another state (decision 91).
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

/** What a token names. */
interface TokenState {
  readonly sequence: number;
  /** Id of the batch in the log of the collection whose last operation this is; empty where there is no log. */
  readonly batch: string;
}

/** A collection whose records may be in a log. */
interface TokenSource {
  readonly logged?: { batchAt(sequence: number): Promise<string | null> } | undefined;
}

export async function tokenScope(catalog: Catalog, ref: CollectionRef): Promise<TokenScope> {
  return { collection: ref.id, epoch: await catalog.epoch(ref) };
}

/** `null`: the collection's log knows no such state. */
export async function tokenState({ logged }: TokenSource, sequence: number): Promise<TokenState | null> {
  const batch = logged === undefined ? "" : await logged.batchAt(sequence);
  return batch === null ? null : { sequence, batch };
}

/** Of what an open collection has come to. */
export async function readTokenOf(
  collection: TokenSource & { readonly readable: number },
  ref: CollectionRef,
  catalog: Catalog,
): Promise<ReadToken> {
  const { readable } = collection;
  // One that is not known was that of a database which has been set back meanwhile: the token will be stale.
  const state = (await tokenState(collection, readable)) ?? { sequence: readable, batch: "" };
  return makeReadToken(await tokenScope(catalog, ref), state);
}

/** The token of the state after the operation `sequence`. */
export function makeReadToken(scope: TokenScope, state: TokenState): ReadToken {
  return (state.sequence % SEQUENCES) * HASHES + hash(scope, state);
}

/**
 * The sequence number that a token names, of whatever scope it is; `null`: there never was such a one.
 *
 * @param newest The newest sequence number there is: the token's is the nearest below that ends alike.
 */
export function readSequence(token: ReadToken, newest: number): number | null {
  const behind = (newest - Math.floor(token / HASHES)) % SEQUENCES;
  const sequence = newest - (behind < 0 ? behind + SEQUENCES : behind);
  return sequence >= 0 ? sequence : null;
}

/** Whether it was made of this state. */
export function isTokenOf(scope: TokenScope, state: TokenState, token: ReadToken): boolean {
  return hash(scope, state) === token % HASHES;
}

function hash({ collection, epoch }: TokenScope, { sequence, batch }: TokenState): number {
  const digest = createHmac("sha256", epoch)
    .update(`${collection} ${Math.floor(sequence / SEQUENCES)}${batch && ` ${batch}`}`)
    .digest();
  return digest.readUInt32BE() % HASHES;
}
