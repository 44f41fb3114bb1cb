/**
 * HTTP to a hub that speaks the API of huggingface.co. Redirects are followed here and not by `fetch`, because the token
 * must not leave the host it belongs to: big files live on other ones.
 */
import { LIMITS } from "@sheaf/protocol";
import { isObject } from "../graph/model-file.ts";
import { isCommit } from "./hub-cache.ts";
import { hubError, TransientHubError } from "./hub-error.ts";
import { retrying, type Wait } from "./retrying.ts";

export interface HubClientOptions {
  /** Base address, without a slash at its end. */
  readonly endpoint: string;
  readonly token: string | null;
  readonly wait: Wait;
  /** A connection that brings nothing for this long counts as cut. */
  readonly stallMs: number;
}

/** A file of a repository, by content. */
export interface HubFile {
  readonly path: string;
  readonly size: number;
  /** SHA-256 (64 digits) of a large file, Git's own SHA-1 of a small one (40); the name of its blob. */
  readonly hash: string;
}

export interface HubListing {
  readonly commit: string;
  readonly files: readonly HubFile[];
}

export interface HubFileAddress {
  readonly repository: string;
  readonly commit: string;
  readonly path: string;
}

/** Bytes of a file from `offset`, which is 0 where the server does not continue files. */
export interface HubBody {
  readonly offset: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

const MAX_REDIRECTS = 5;
const BLOB_HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/u;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const PARTIAL = 206;
const RANGE_NOT_SATISFIABLE = 416;

export class HubClient {
  readonly #options: HubClientOptions;

  constructor(options: HubClientOptions) {
    this.#options = options;
  }

  /** The commit behind a revision and its files. Throws 503 that says what to do. */
  listing(repository: string, revision: string, signal?: AbortSignal): Promise<HubListing> {
    const url = `${this.#options.endpoint}/api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`;
    const load = async (): Promise<HubListing> => {
      const what = `${repository} at ${revision}`;
      const { response, watch } = await this.#request(url, { what, headers: {}, signal });
      return parseListing(url, await readText(url, watch.chunks(response)));
    };
    return retrying(load, { wait: this.#options.wait, signal });
  }

  /** One attempt; a `TransientHubError`, also from the chunks, is worth another. */
  async open(address: HubFileAddress, offset: number, signal?: AbortSignal): Promise<HubBody> {
    const { repository, commit, path } = address;
    const encoded = path.split("/").map(encodeURIComponent).join("/");
    const url = `${this.#options.endpoint}/${repository}/resolve/${commit}/${encoded}`;
    const headers: Record<string, string> = offset === 0 ? {} : { range: `bytes=${offset}-` };
    const { response, watch } = await this.#request(url, {
      what: `${path} of ${repository} at ${commit}`,
      headers,
      signal,
    });
    return { offset: response.status === PARTIAL ? offset : 0, chunks: watch.chunks(response) };
  }

  async #request(url: string, request: HubRequest): Promise<{ response: Response; watch: StallWatch }> {
    const watch = new StallWatch(this.#options.stallMs, request.signal);
    const { token } = this.#options;
    let target = new URL(url);
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const ours = target.origin === new URL(url).origin;
      const headers = {
        "user-agent": "sheaf",
        "accept-encoding": "identity",
        ...request.headers,
        ...(token !== null && ours ? { authorization: `Bearer ${token}` } : {}),
      };
      const response = await watch.fetch(target, headers);
      if (!REDIRECTS.has(response.status)) {
        if (isExpected(response, request)) return { response, watch };
        watch.end();
        await response.body?.cancel();
        throw this.#refusal(response, request.what);
      }
      await response.body?.cancel();
      target = redirectTarget(target, response.headers.get("location"));
    }
    watch.end();
    throw hubError(`${url} redirects more than ${MAX_REDIRECTS} times`);
  }

  #refusal({ status, headers }: Response, what: string): Error {
    const { endpoint, token } = this.#options;
    const from = `${endpoint} answered ${status} for ${what}`;
    switch (status) {
      case 401:
        return hubError(
          token === null
            ? `${from}: it needs a token; set HF_TOKEN`
            : `${from}: HF_TOKEN is not valid there, or the repository does not exist`,
        );
      case 403:
        return hubError(`${from}: the token may not read it; accept the model's terms on its page first`);
      case 404:
        return hubError(`${from}: it does not exist there`);
      case RANGE_NOT_SATISFIABLE:
        return new TransientHubError(from, { retryAfterMs: 0 });
      default:
        if (status !== 408 && status !== 429 && status < 500) return hubError(from);
        return new TransientHubError(from, { retryAfterMs: retryAfterMs(headers.get("retry-after")) });
    }
  }
}

interface HubRequest {
  /** What is asked for, for messages. */
  readonly what: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
}

/** Turns a connection that breaks or falls silent into a `TransientHubError`. */
class StallWatch {
  readonly #stallMs: number;
  readonly #silence = new AbortController();
  readonly #signal: AbortSignal;
  #timer: NodeJS.Timeout | null = null;

  constructor(stallMs: number, signal: AbortSignal | undefined) {
    this.#stallMs = stallMs;
    const own = this.#silence.signal;
    this.#signal = signal === undefined ? own : AbortSignal.any([own, signal]);
  }

  async fetch(url: URL, headers: Readonly<Record<string, string>>): Promise<Response> {
    this.#restart();
    try {
      return await fetch(url, { headers, redirect: "manual", signal: this.#signal });
    } catch (error) {
      this.end();
      throw new TransientHubError(`no answer from ${url.origin} (${reasonOf(error)})`, { cause: error });
    }
  }

  async *chunks(response: Response): AsyncGenerator<Uint8Array> {
    try {
      if (response.body === null) return;
      for await (const chunk of response.body) {
        this.#restart();
        yield chunk as Uint8Array;
      }
    } catch (error) {
      throw new TransientHubError(`the connection to ${response.url} was cut (${reasonOf(error)})`, {
        cause: error,
      });
    } finally {
      this.end();
    }
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #restart(): void {
    this.end();
    this.#timer = setTimeout(
      () => this.#silence.abort(new Error(`silent for ${this.#stallMs / 1_000} s`)),
      this.#stallMs,
    );
  }
}

function isExpected(response: Response, request: HubRequest): boolean {
  if (response.status === 200) return true;
  const range = request.headers["range"];
  if (response.status !== PARTIAL || range === undefined) return false;
  const start = range.slice("bytes=".length, -1);
  return response.headers.get("content-range")?.startsWith(`bytes ${start}-`) === true;
}

function redirectTarget(from: URL, location: string | null): URL {
  if (location === null || !URL.canParse(location, from.href)) {
    throw hubError(`${from.href} redirects to nowhere`);
  }
  const target = new URL(location, from);
  const safe = target.protocol === "https:" || (target.protocol === "http:" && from.protocol === "http:");
  if (!safe) throw hubError(`${from.href} redirects to ${target.protocol} and away from https`);
  return target;
}

function retryAfterMs(header: string | null): number | null {
  if (header === null) return null;
  const seconds = /^\d+$/u.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, seconds * 1_000) : null;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

async function readText(url: string, chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > LIMITS.modelHeaderBytes) throw hubError(`${url} answers more than a list of files`);
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString("utf8");
}

function parseListing(url: string, text: string): HubListing {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw hubError(`${url} does not answer with JSON; is HF_ENDPOINT a hub?`, error);
  }
  const listing = isObject(value) ? value : {};
  const { sha, siblings } = listing;
  if (typeof sha !== "string" || !isCommit(sha) || !Array.isArray(siblings)) {
    throw hubError(`${url} does not answer with a commit and its files; is HF_ENDPOINT a hub?`);
  }
  return { commit: sha, files: siblings.flatMap((sibling: unknown) => parseFile(url, sibling)) };
}

/** None for a path that leaves the folder: no file that a model needs has one. */
function parseFile(url: string, sibling: unknown): HubFile[] {
  const file = isObject(sibling) ? sibling : {};
  const path = file["rfilename"];
  const large = isObject(file["lfs"]) ? file["lfs"] : null;
  const size = large?.["size"] ?? file["size"];
  const hash = large?.["sha256"] ?? large?.["oid"] ?? file["blobId"];
  if (typeof path !== "string" || typeof hash !== "string" || !BLOB_HASH.test(hash)) {
    throw hubError(`${url} lists a file without its hash`);
  }
  if (!Number.isSafeInteger(size) || Number(size) < 0)
    throw hubError(`${url} lists ${path} without its size`);
  const parts = path.split(/[\\/]/u);
  return parts.some((part) => part === ".." || part === "") ? [] : [{ path, size: Number(size), hash }];
}
