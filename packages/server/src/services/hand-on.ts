/** Requests on their way to the engine. */
import { packInTurns, packedFormOf } from "@sheaf/process";
import type { CancelSignal } from "@sheaf/protocol";

/**
 * What was made of a request. Where that came packed, for it is large, this is packed as well, in slices: else it would be
 * encoded, and decoded, in one piece.
 */
export async function handOn<T extends object>(made: T, request: object, signal: CancelSignal): Promise<T> {
  if (made !== request && packedFormOf(request) !== undefined) await packInTurns(made, signal);
  return made;
}
