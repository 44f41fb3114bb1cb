/** Bodies of the tenant routes and the reply that describes a tenant. */
import { invalid } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Tenant } from "./ast.ts";
import { BodyReader } from "./body-reader.ts";
import { parseTenantName } from "./name.ts";

export interface TenantBody {
  readonly name: string;
}

export interface TenantUpdate {
  readonly resourceName: string;
}

/** @throws SheafError 400 for a bad name, 422 for a wrong type. */
export function parseTenantBody(body: unknown): TenantBody {
  const reader = new BodyReader(body, "");
  return Object.freeze({ name: parseTenantName(reader.get("name"), "name") });
}

/** @throws SheafError 400 for a name that is too long, 422 for a wrong type or none. */
export function parseTenantUpdate(body: unknown): TenantUpdate {
  const resourceName = new BodyReader(body, "").requiredString("resource_name");
  if (resourceName.length > LIMITS.nameCharacters) {
    throw invalid("resource_name", `must be at most ${LIMITS.nameCharacters} characters long`);
  }
  return Object.freeze({ resourceName });
}

export function writeTenant(tenant: Tenant): string {
  return JSON.stringify({ name: tenant.name, resource_name: tenant.resourceName });
}
