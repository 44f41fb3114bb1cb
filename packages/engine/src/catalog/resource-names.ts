/**
 * Which tenant a resource name stands for. There are few tenants and few questions, so the answer comes from one
 * pass over all of them, kept until a tenant changes; the catalog needs no keys of its own for it.
 */
import { type Tenant, SheafError } from "@sheaf/protocol";

export class ResourceNames {
  readonly #tenants: () => readonly Tenant[];
  /** Resource name -> tenant name. */
  #known: ReadonlyMap<string, string> | null = null;

  constructor(tenants: () => readonly Tenant[]) {
    this.#tenants = tenants;
  }

  /** `null`: no tenant has this resource name. */
  tenantOf(resourceName: string): string | null {
    this.#known ??= new Map(
      this.#tenants().flatMap(({ name, resourceName: own }) => (own === null ? [] : [[own, name] as const])),
    );
    return this.#known.get(resourceName) ?? null;
  }

  /** 409 if another tenant has it. */
  requireFree(resourceName: string, tenant: string): void {
    if ((this.tenantOf(resourceName) ?? tenant) === tenant) return;
    throw new SheafError("already_exists", `Resource name [${resourceName}] already exists`);
  }

  /** To be called before and after every change of a tenant. */
  forget(): void {
    this.#known = null;
  }
}
