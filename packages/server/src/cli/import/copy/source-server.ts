/**
 * Reads of a server that records are copied from. It may be slow, broken or something else: every answer has a bound and a
 * deadline, and whatever is wrong with one is told with its address.
 */
import { NotFoundError, SheafApiError, SheafClient, UnreachableError } from "@sheaf/client";
import { SheafError, readJsonWithVectors } from "@sheaf/protocol";

export interface SourceServerOptions {
  /** Whose interface it speaks, for messages. */
  readonly product: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of an answer. */
  readonly mostBytes?: number;
}

const TIMEOUT_MS = 120_000;
/** Pages are made for 8 MiB, but a single record may be larger. */
const MOST_BYTES = 256 * 2 ** 20;

export class SourceServer {
  readonly #client: SheafClient;
  readonly #options: SourceServerOptions;

  constructor(options: SourceServerOptions) {
    const { url, mostBytes = MOST_BYTES } = options;
    this.#client = new SheafClient({ url, timeoutMs: TIMEOUT_MS, fetch: boundedFetch(mostBytes) });
    this.#options = options;
  }

  /**
   * The body of an answer. Every request is a read, and may be repeated.
   * @param json Makes it a POST.
   * @throws SheafApiError for another status than 200, but SheafError `not_found` for a 404.
   */
  async text(path: string, json?: object): Promise<string> {
    const { product, url, headers } = this.#options;
    const method = json === undefined ? "GET" : "POST";
    try {
      return await this.#client.request<string>({ method, path, json, headers, text: true });
    } catch (cause) {
      if (cause instanceof UnreachableError) {
        if (cause.cause instanceof AnswerTooLarge) throw this.#strange(path, cause.cause);
        throw new SheafError("unavailable", `no ${product} server answers at ${url}`, { cause });
      }
      if (cause instanceof NotFoundError)
        throw new SheafError("not_found", `${url}${path} answered 404: ${cause.message}`, { cause });
      throw cause;
    }
  }

  /** What `read` makes of an answer; what it throws is told as a fault of the answer. */
  async read<T>(path: string, json: object | undefined, read: (parsed: unknown) => T): Promise<T> {
    const text = await this.text(path, json);
    return this.#understood(path, () => read(JSON.parse(text)));
  }

  /** As `read`, with vectors as `readJsonWithVectors` reads them; `bytes` is the size of the answer. */
  async readVectors<T>(path: string, json: object, read: (parsed: unknown, bytes: number) => T): Promise<T> {
    const text = await this.text(path, json);
    return this.#understood(path, () => read(readJsonWithVectors(Buffer.from(text)), text.length));
  }

  #understood<T>(path: string, read: () => T): T {
    try {
      return read();
    } catch (cause) {
      throw this.#strange(path, cause);
    }
  }

  #strange(path: string, cause: unknown): SheafError {
    const { product, url } = this.#options;
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new SheafError(
      "failed_precondition",
      `${url}${path} did not answer as ${product} does: ${reason}`,
      { cause },
    );
  }
}

/** @throws TypeError that names the member, for anything else than a list of objects with these texts. */
export function requireTexts<K extends string>(
  list: unknown,
  name: string,
  members: readonly K[],
): readonly Readonly<Record<K, string>>[] {
  if (!Array.isArray(list)) throw new TypeError(`${name} is no list`);
  for (const [i, one] of (list as readonly unknown[]).entries()) {
    for (const member of members) {
      const value = typeof one === "object" && one !== null ? (one as Record<string, unknown>)[member] : null;
      if (typeof value !== "string") throw new TypeError(`${name}[${i}].${member} is no text`);
    }
  }
  return list as readonly Readonly<Record<K, string>>[];
}

class AnswerTooLarge extends Error {
  constructor(mostBytes: number) {
    super(`the answer is over ${mostBytes} bytes`);
  }
}

/** Ends an answer that is too large instead of keeping it. */
function boundedFetch(mostBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    let bytes = 0;
    const bound = new TransformStream<Uint8Array, Uint8Array>({
      transform(part, controller) {
        bytes += part.length;
        if (bytes > mostBytes) throw new AnswerTooLarge(mostBytes);
        controller.enqueue(part);
      },
    });
    return new Response(response.body.pipeThrough(bound), response);
  };
}

/** A failed call that the server answered, with that status. */
export function isStatus(error: unknown, status: number): boolean {
  return error instanceof SheafApiError && error.status === status;
}
