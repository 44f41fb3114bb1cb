/**
 * How services reach the engine: by asking for it at every call. It throws while there is none to serve with: 503
 * until the engine host is up, 501 on a server whose role opens no store.
 */
import type { Engine } from "@sheaf/engine";
import { SheafError } from "@sheaf/protocol";

export type EngineSource = () => Engine;

/** Holds the engine once it serves. */
export class EngineSlot {
  #engine: Engine | null = null;

  readonly get: EngineSource = () => {
    if (this.#engine === null) throw new SheafError("unavailable", "the engine is starting; try again");
    return this.#engine;
  };

  set(engine: Engine): void {
    this.#engine = engine;
  }
}

/** The source of a server that opens no store. */
export const refuseEngine: EngineSource = () => {
  throw new SheafError(
    "unimplemented",
    'this server runs with the role "embed": it keeps no collections, and no keys but the root key',
  );
};
