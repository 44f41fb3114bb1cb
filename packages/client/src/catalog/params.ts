/** Parameters that many methods share, and what the server says of tenants and databases. */
import { type MembersOf, requireKnown } from "../require-known.ts";
import { CALL, type CallOptions } from "../transport.ts";

export interface NameParams extends CallOptions {
  readonly name: string;
}

export interface IdParams extends CallOptions {
  readonly id: string;
}

/** One page; all that is there if both are left out. */
export interface PageParams extends CallOptions {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

/** Of any page of a list. */
export interface ListParams extends PageParams {
  /** Where the page before ended, as the server said. */
  readonly after?: string | undefined;
}

/** Of lists that are gone through page by page. */
export interface PagesParams extends CallOptions {
  /** 100 if omitted. */
  readonly pageSize?: number | undefined;
}

export interface UpdateTenantParams extends NameParams {
  /** Another name, by which `getCollectionByResource` finds the tenant. */
  readonly resourceName: string;
}

export interface ResourceParams extends NameParams {
  /** Resource name of the tenant, or its name. */
  readonly tenant: string;
  readonly database: string;
}

export interface TenantInfo {
  readonly name: string;
  readonly resourceName: string | null;
}

export interface DatabaseInfo {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
}

export interface Identity {
  /** Id of the key; empty on a server without keys. */
  readonly userId: string;
  /** The tenant that the key is bound to, or `*`. */
  readonly tenant: string;
  readonly databases: readonly string[];
}

export const NAME: MembersOf<NameParams> = { name: true, ...CALL };
export const ID: MembersOf<IdParams> = { id: true, ...CALL };
export const PAGE: MembersOf<PageParams> = { limit: true, offset: true, ...CALL };
export const PAGES: MembersOf<PagesParams> = { pageSize: true, ...CALL };
export const UPDATE_TENANT: MembersOf<UpdateTenantParams> = { resourceName: true, ...NAME };
export const RESOURCE: MembersOf<ResourceParams> = { tenant: true, database: true, ...NAME };

/** The query of a page. */
export function pageQuery({ limit, offset, after }: ListParams): string {
  const query = new URLSearchParams();
  if (limit !== undefined) query.set("limit", String(limit));
  if (offset !== undefined) query.set("offset", String(offset));
  if (after !== undefined) query.set("after", after);
  return query.size === 0 ? "" : `?${query.toString()}`;
}

export function knownCall(params: CallOptions): CallOptions {
  return requireKnown(params, CALL, "params");
}

export interface TenantReply {
  readonly name: string;
  readonly resource_name: string | null;
}

export function tenantInfo({ name, resource_name }: TenantReply): TenantInfo {
  return { name, resourceName: resource_name };
}

export interface IdentityReply {
  readonly user_id: string;
  readonly tenant: string;
  readonly databases: readonly string[];
}

export function identityOf({ user_id, tenant, databases }: IdentityReply): Identity {
  return { userId: user_id, tenant, databases };
}
