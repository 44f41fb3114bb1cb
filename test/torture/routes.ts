/** Where the things of the torture are on the server. */
import type { Request } from "./tortured-server.ts";

export const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
export const KEYS = "/api/v2/keys";
export const IDENTITY = "/api/v2/auth/identity";
/** Answered by the engine, from its catalog. */
export const PROBE: Request = {
  method: "GET",
  path: "/api/v2/tenants/default_tenant/databases/default_database/collections_count",
};
/** Collections in which every writer has records of its own. The second is beyond the size at which vectors are indexed. */
export const SHARED = { small: "shared-small", large: "shared-large" } as const;
export const SHARED_NAMES: readonly string[] = Object.values(SHARED);
