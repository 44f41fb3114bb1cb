/** HTTP with JSON bodies, the key header and typed errors; knows nothing of what it carries. */
import { UnreachableError, errorOf } from "./errors.ts";
import { type MembersOf, requireKnown } from "./require-known.ts";

export interface RequestOptions {
  readonly signal?: AbortSignal;
}

export interface TransportOptions {
  readonly url: string;
  readonly key?: string;
  /** Replaces the global `fetch`, for tests and special networks. */
  readonly fetch?: typeof fetch;
}

const REQUEST_OPTIONS: MembersOf<RequestOptions> = { signal: true };

export class Transport {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: typeof fetch;

  constructor(options: TransportOptions) {
    if (!isHttpUrl(options.url)) {
      throw new TypeError("options.url: must be the address of a server, such as http://127.0.0.1:8000");
    }
    this.#url = options.url.replace(/\/+$/u, "");
    this.#headers = options.key === undefined ? {} : { "x-service-token": options.key };
    this.#fetch = options.fetch ?? fetch;
  }

  get<T>(path: string, options?: RequestOptions): Promise<T> {
    return this.#send<T>(path, { method: "GET" }, options);
  }

  delete<T>(path: string, options?: RequestOptions): Promise<T> {
    return this.#send<T>(path, { method: "DELETE" }, options);
  }

  post<T>(
    path: string,
    body: unknown,
    options?: RequestOptions,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    const init = {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    };
    return this.#send<T>(path, init, options);
  }

  async #send<T>(path: string, init: RequestInit, options: RequestOptions | undefined): Promise<T> {
    requireKnown(options ?? {}, REQUEST_OPTIONS, "options");
    const signal = options?.signal;
    const response = await this.#fetch(`${this.#url}${path}`, {
      ...init,
      headers: { ...this.#headers, ...(init.headers as Record<string, string> | undefined) },
      ...(signal === undefined ? {} : { signal }),
    }).catch((error: unknown) => {
      throw signal?.aborted === true ? error : new UnreachableError(this.#url, error);
    });
    if (!response.ok) throw await errorOf(response);
    // The server answers what the route's documentation says; a mismatch is a bug there, not a state to handle here.
    return (await response.json()) as T;
  }
}

function isHttpUrl(url: unknown): boolean {
  return typeof url === "string" && URL.canParse(url) && /^https?:/iu.test(url);
}
