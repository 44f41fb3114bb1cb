/** Where a store has an LMDB environment to itself. */
import type { EntrySource } from "./entry-space.ts";
import type { EnvironmentOptions } from "./environment-options.ts";
import { LmdbEnvironment } from "./lmdb-environment.ts";

/** It is made at the first write: a collection that was never written costs no file. */
export function ownEnvironment(options: EnvironmentOptions): EntrySource {
  const { name, folder } = options;
  return {
    name,
    isShared: false,
    find: () => (LmdbEnvironment.exists(folder) ? new LmdbEnvironment(options) : null),
    make: () => new LmdbEnvironment(options),
  };
}
