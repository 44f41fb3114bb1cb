/** That keys are not valid from a time on, and which. */
import type { Principal } from "./principal.ts";

/** Of keys that are gone. */
export const AT_ONCE = Number.NEGATIVE_INFINITY;

/** What a key is told by. */
export type KeyIdentity = Pick<Principal, "id" | "tenant" | "database">;

export interface KeyEnd {
  readonly includes: (key: KeyIdentity) => boolean;
  /** Milliseconds since 1970, or `AT_ONCE`. */
  readonly at: number;
}
