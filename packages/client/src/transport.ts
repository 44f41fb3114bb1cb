/**
 * HTTP with JSON bodies, the key header, typed errors, repeated attempts and a deadline; knows nothing of what it carries.
 * Uses only what browsers have, too.
 */
import { BusyError, RequestTimeoutError, SheafApiError, UnreachableError, errorOf } from "./errors.ts";
import { type MembersOf } from "./require-known.ts";
import { retryDelayMs } from "./retry-delay.ts";

/** Part of the parameters of every method. */
export interface CallOptions {
  /** Ends the call; it rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** For all attempts of a request together, instead of the client's; `Infinity` for no end. */
  readonly timeoutMs?: number | undefined;
}

export interface TransportOptions {
  /** Address of the server, such as `http://127.0.0.1:8000`. */
  readonly url: string;
  readonly key?: string | undefined;
  /** Ask for nothing that Chroma has not: the server refuses its own extensions by name. */
  readonly strict?: boolean | undefined;
  /** How often a request is sent again that was refused with 429 or 503; 4 if omitted. */
  readonly retries?: number;
  /** For all attempts of a request together; 120,000 if omitted. */
  readonly timeoutMs?: number;
  /** Replaces the global `fetch`, for special networks. */
  readonly fetch?: typeof fetch;
}

export interface ClientRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** From the root of the server on, with its query. */
  readonly path: string;
  readonly json?: unknown;
  /** Instead of `json`: a body that is JSON already, with numbers that JavaScript does not tell apart (2.0, integers over 2^53). */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * `false`: a second time may do something else than the first. It is not sent again after 503, which also comes when the
   * server ended in the middle of the first time.
   */
  readonly repeatable?: boolean;
  /** The answer is text and no JSON. */
  readonly text?: boolean;
}

interface Answer<T> {
  readonly value: T;
  readonly headers: Headers;
}

/** The members of `CallOptions`, for the tables of parameters. */
export const CALL: MembersOf<CallOptions> = { signal: true, timeoutMs: true };
export const TRANSPORT: MembersOf<TransportOptions> = {
  url: true,
  key: true,
  strict: true,
  retries: true,
  timeoutMs: true,
  fetch: true,
};

const RETRIES = 4;
const TIMEOUT_MS = 120_000;
/** The longest that timers can wait for. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const TOO_MANY_REQUESTS = 429;

export class Transport {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: typeof fetch;
  readonly #retries: number;
  readonly #timeoutMs: number;

  constructor({
    url,
    key,
    strict = false,
    retries = RETRIES,
    timeoutMs = TIMEOUT_MS,
    fetch: given = fetch,
  }: TransportOptions) {
    if (!isHttpUrl(url)) {
      throw new TypeError("options.url: must be the address of a server, such as http://127.0.0.1:8000");
    }
    if (/[?#]/u.test(url)) throw new TypeError("options.url: must have no query and no fragment");
    if (key !== undefined && !isHeaderValue(key))
      throw new TypeError("options.key: has characters that a header cannot have");
    this.#url = url.replace(/\/+$/u, "");
    this.#headers = {
      ...(key !== undefined && { "x-service-token": key }),
      ...(strict && { "x-sheaf-strict": "1" }),
    };
    this.#fetch = given;
    if (!(Number.isInteger(retries) && retries >= 0)) {
      throw new TypeError("options.retries: must be an integer of at least 0");
    }
    this.#retries = retries;
    this.#timeoutMs = positive(timeoutMs, "options.timeoutMs");
  }

  /** The parsed body of a success. */
  async send<T>(request: ClientRequest, options: CallOptions = {}): Promise<T> {
    return (await this.sendForAnswer<T>(request, options)).value;
  }

  /** @throws SheafClientError, or the reason of the signal. */
  async sendForAnswer<T>(request: ClientRequest, options: CallOptions = {}): Promise<Answer<T>> {
    const { signal } = options;
    const timeoutMs = positive(options.timeoutMs ?? this.#timeoutMs, "params.timeoutMs");
    signal?.throwIfAborted();
    const endsAt = performance.now() + timeoutMs;
    const end = new AbortController();
    const overdue = new RequestTimeoutError(this.#url, timeoutMs);
    const timer = setTimeout(() => end.abort(overdue), Math.min(timeoutMs, LONGEST_TIMER_MS));
    const passOn = (): void => end.abort(signal?.reason);
    signal?.addEventListener("abort", passOn);
    try {
      return await this.#attempt<T>(request, end.signal, endsAt);
    } catch (error) {
      throw end.signal.aborted ? end.signal.reason : error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", passOn);
    }
  }

  async #attempt<T>(request: ClientRequest, signal: AbortSignal, endsAt: number): Promise<Answer<T>> {
    const init = this.#init(request, signal);
    for (let attempts = 1; ; attempts++) {
      const [response, text] = await this.#exchange(`${this.#url}${request.path}`, init);
      if (response.ok) {
        return {
          value: (request.text === true ? text : this.#parse(response, text)) as T,
          headers: response.headers,
        };
      }
      const error = errorOf(response, text);
      const mayRepeat = error.status === TOO_MANY_REQUESTS || request.repeatable !== false;
      if (!(error instanceof BusyError) || !mayRepeat || attempts > this.#retries) throw error;
      const { retryAfterSeconds } = error;
      const delayMs = retryDelayMs({ attempts, retryAfterSeconds, chance: Math.random() });
      if (delayMs === null || performance.now() + delayMs > endsAt) throw error;
      await sleep(delayMs, signal);
    }
  }

  #init({ method, json, body, headers }: ClientRequest, signal: AbortSignal): RequestInit {
    const hasBody = json !== undefined || body !== undefined;
    return {
      method,
      signal,
      headers: { ...this.#headers, ...(hasBody ? { "content-type": "application/json" } : {}), ...headers },
      ...(hasBody ? { body: body ?? JSON.stringify(json) } : {}),
    };
  }

  async #exchange(url: string, init: RequestInit): Promise<readonly [Response, string]> {
    // Browsers refuse a `fetch` that is called as a method of something else.
    const send = this.#fetch;
    try {
      const response = await send(url, init);
      return [response, await response.text()];
    } catch (error) {
      throw new UnreachableError(this.#url, error);
    }
  }

  #parse({ status, statusText, headers }: Response, text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (cause) {
      const requestId = headers.get("x-request-id");
      const details = { status, name: statusText, requestId, retryAfterSeconds: null };
      const error = new SheafApiError(
        `the answer of ${this.#url} is not JSON; is this a Sheaf server?`,
        details,
      );
      error.cause = cause;
      throw error;
    }
  }
}

function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(new Error("stopped"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, delayMs);
    signal.addEventListener("abort", stop, { once: true });
  });
}

function positive(value: number, path: string): number {
  if (!(value > 0)) throw new TypeError(`${path}: must be a number over 0`);
  return value;
}

/** What is refused is a secret, so nothing of it is said. `fetch` removes blanks and line ends around it. */
function isHeaderValue(value: unknown): boolean {
  return typeof value === "string" && /^[\x20-\x7e\x80-\xff]*$/u.test(value.trim());
}

function isHttpUrl(url: unknown): boolean {
  return typeof url === "string" && URL.canParse(url) && /^https?:/iu.test(url);
}
