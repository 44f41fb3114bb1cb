/** A tenant of a served Sheaf with a key that is bound to it, and requests in its name. */
import type { ServedSheaf } from "../../e2e/testing/served-sheaf.ts";

export interface SendOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export class Tenant {
  readonly name: string;
  readonly key: string;
  readonly #served: Pick<ServedSheaf, "url">;

  constructor(served: Pick<ServedSheaf, "url">, name: string, key: string) {
    this.#served = served;
    this.name = name;
    this.key = key;
  }

  /** Of its server. */
  get url(): string {
    return this.#served.url;
  }

  /** Path of the collections of its database `main`. */
  get collections(): string {
    return `/api/v2/tenants/${this.name}/databases/main/collections`;
  }

  /** Sends JSON as it is given, or a body that is a string or bytes already. `undefined` is a GET. */
  send(path: string, body?: unknown, options: SendOptions = {}): Promise<Response> {
    const isRaw = typeof body === "string" || body instanceof Uint8Array;
    return fetch(`${this.#served.url}${path}`, {
      method: options.method ?? (body === undefined ? "GET" : "POST"),
      ...(body === undefined ? {} : { body: (isRaw ? body : JSON.stringify(body)) as string }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      headers: {
        "x-service-token": this.key,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...options.headers,
      },
    });
  }

  /** Sends and gives the parsed answer; throws for another status, with what was said. */
  async expect<T>(status: number, path: string, body?: unknown, options?: SendOptions): Promise<T> {
    const reply = await this.send(path, body, options);
    const text = await reply.text();
    if (reply.status !== status) throw new Error(`${path}: ${reply.status} ${text.slice(0, 500)}`);
    return JSON.parse(text) as T;
  }

  /** Gives the path of the new collection. */
  async createCollection(name: string, members: object = {}): Promise<string> {
    const { id } = await this.expect<{ id: string }>(200, this.collections, { name, ...members });
    return `${this.collections}/${id}`;
  }
}

/** A tenant with a database `main` and a key bound to it that may do everything a tenant can. */
export async function createTenant(served: ServedSheaf, name: string): Promise<Tenant> {
  await served.ask("/api/v2/tenants", { name });
  await served.ask(`/api/v2/tenants/${name}/databases`, { name: "main" });
  const made = await served.ask<{ key: string }>("/api/v2/keys", {
    name,
    tenant: name,
    scopes: ["read", "write", "embed", "admin"],
  });
  return new Tenant(served, name, made.key);
}
