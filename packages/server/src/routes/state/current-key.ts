/** What the key that is sent may do. Chroma's identity says whose things it may touch, and its clients take no more of it. */
import { type Route, ok } from "../../http/route.ts";
import { NOT_KEPT, STATE as described } from "./state-descriptions.ts";

export function currentKeyRoutes(): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/api/v2/keys/current",
      description: described.currentKey,
      scope: "any",
      tenant: "none",
      handle({ principal: { id, tenant, database, scopes, expires = null } }) {
        const expiresAt = expires === null ? null : new Date(expires).toISOString();
        const key = { id, tenant, database, scopes: [...scopes], expires_at: expiresAt };
        return ok(JSON.stringify(key), NOT_KEPT);
      },
    },
  ];
}
