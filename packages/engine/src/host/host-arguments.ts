/** What an engine host is started with: settings as an argument, which others can read, and secrets in its environment. */
import { NO_QUOTAS } from "../collection/tenant-quotas.ts";
import { HOST_PROCESS } from "./host-process.ts";
import type { EngineDatabase, EngineObjects } from "../local-engine-options.ts";
import type { HostArguments, ObjectSecret } from "./host-protocol.ts";
import type { ClusterNodes, HostedEngineOptions } from "./hosted-engine-options.ts";

/** Another one at each start. */
type KnownLater = "damaged" | "quarantined";

/** As for the gateway. */
const SECRET = "SHEAF_CLUSTER_SECRET";

interface HostStart {
  /** What is left out is left out of the JSON, too. */
  readonly settings: Omit<HostArguments, KnownLater>;
  readonly env: Readonly<Record<string, string>>;
}

export function hostStart(options: HostedEngineOptions, lockToken: string): HostStart {
  const { dataFolder, quotas = NO_QUOTAS, indexMemory, unsealedMemory, purgeAfterMs } = options;
  const { index, shareStores, diskReserve, archive, database, cluster, objects } = options;
  const { password, ...place } = database ?? {};
  const { accessKeyId: _id, secretAccessKey: _key, sessionToken: _token, ...store } = objects ?? {};
  const stored = { index, shareStores, diskReserve, archive };
  const { secrets, ...nodes } = cluster ?? {};
  const shared = { database: database && place, cluster: cluster && nodes, objects: objects && store };
  const settings = {
    ...{ dataFolder, lockToken, quotas, indexMemory, unsealedMemory, purgeAfterMs },
    ...{ ...stored, ...shared },
  } satisfies { [name in Exclude<keyof HostArguments, KnownLater>]-?: unknown };
  const env = {
    ...HOST_PROCESS.env,
    ...(password !== undefined && { PGPASSWORD: password }),
    ...(secrets !== undefined && { [SECRET]: secrets.join("\n") }),
    ...environmentOf(objects),
  };
  return { settings: settings as HostStart["settings"], env };
}

function environmentOf(objects: Pick<EngineObjects, ObjectSecret> | undefined): HostStart["env"] {
  if (objects === undefined) return {};
  const { accessKeyId, secretAccessKey, sessionToken = "" } = objects;
  return {
    ...{ AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
    // The gateway's own may be another one.
    AWS_SESSION_TOKEN: sessionToken,
  };
}

/** In the host: what its arguments say, with the password of its environment. */
export function databaseOfHost(
  database: HostArguments["database"],
  env: Readonly<Record<string, string | undefined>>,
): { readonly database?: EngineDatabase } {
  if (database === undefined) return {};
  const password = env["PGPASSWORD"];
  return { database: { ...database, ...(password !== undefined && { password }) } };
}

/** In the host: what its arguments say, with the keys of its environment. */
export function objectsOfHost(
  objects: HostArguments["objects"],
  env: Readonly<Record<string, string | undefined>>,
): { readonly objects?: EngineObjects } {
  if (objects === undefined) return {};
  const sessionToken = env["AWS_SESSION_TOKEN"] ?? "";
  const keys = {
    accessKeyId: env["AWS_ACCESS_KEY_ID"] ?? "",
    secretAccessKey: env["AWS_SECRET_ACCESS_KEY"] ?? "",
    ...(sessionToken !== "" && { sessionToken }),
  };
  return { objects: { ...objects, ...keys } };
}

/** In the host: `null` where collections in partitions are written with their records. */
export function clusterOfHost(
  cluster: HostArguments["cluster"],
  env: Readonly<Record<string, string | undefined>>,
): ClusterNodes | null {
  return cluster === undefined ? null : { ...cluster, secrets: (env[SECRET] ?? "").split("\n") };
}
