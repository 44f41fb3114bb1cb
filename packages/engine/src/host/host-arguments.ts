/** What an engine host is started with: settings as an argument, which others can read, and secrets in its environment. */
import { NO_QUOTAS } from "../collection/tenant-quotas.ts";
import { HOST_PROCESS } from "./host-process.ts";
import type { HostArguments } from "./host-protocol.ts";
import type { HostedEngineOptions } from "./hosted-engine-options.ts";

interface HostStart {
  /** What is left out is left out of the JSON, too. */
  readonly settings: Omit<HostArguments, "damaged">;
  readonly env: Readonly<Record<string, string>>;
}

export function hostStart(options: HostedEngineOptions, lockToken: string): HostStart {
  const { dataFolder, quotas = NO_QUOTAS, indexMemory, unsealedMemory, purgeAfterMs } = options;
  const { index, shareStores, diskReserve, archive, database } = options;
  const { password, ...place } = database ?? {};
  const stored = { index, shareStores, diskReserve, archive, database: database && place };
  const settings = {
    ...{ dataFolder, lockToken, quotas, indexMemory, unsealedMemory, purgeAfterMs },
    ...stored,
  } satisfies { [name in Exclude<keyof HostArguments, "damaged">]-?: unknown };
  // PostgreSQL's client finds it there.
  const env = { ...HOST_PROCESS.env, ...(password !== undefined && { PGPASSWORD: password }) };
  return { settings: settings as HostStart["settings"], env };
}
