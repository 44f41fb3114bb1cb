/**
 * How services reach the engine: by asking for it at every call. It throws while there is none to serve with: 503
 * until the engine host is up, 501 on a server whose role serves no collections.
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
  throw refusal("embed");
};

/** The source of a server that makes indexes for others. */
export const refuseCalls: EngineSource = () => {
  throw refusal("index");
};

/** Whether nobody can reach an engine there, now or later. */
export function isRefusing(source: EngineSource): boolean {
  return source === refuseEngine || source === refuseCalls;
}

function refusal(role: string): SheafError {
  const words = `this server runs with the role "${role}": it serves no collections, and knows no keys but the root key`;
  return new SheafError("unimplemented", words);
}
