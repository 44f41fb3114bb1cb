/**
 * What Sheaf asks of an object store, in the S3 API: whole objects and ranges of them, uploads in parts, names by prefix,
 * copies, removal. No conditions: the database says which objects count, so any store that speaks the API will do. A
 * request that fails for the moment is sent again after a random pause that grows.
 */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { SheafError } from "@sheaf/protocol";
import { AwsClient } from "aws4fetch";
import { bodyOf } from "./answer-body.ts";
import { Slots } from "./slots.ts";
import { StoreFailure } from "./store-failure.ts";
import type { StoreHealth } from "./store-health.ts";

export interface ObjectStoreSettings {
  /** `https://host:port`; the bucket is the first part of the path. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Of all names: empty, or it ends with a slash. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** An operator says by name that unencrypted requests to another machine are meant. */
  readonly allowPlaintext?: boolean;
  readonly limits?: Partial<ObjectStoreLimits>;
}

export interface ObjectStoreLimits {
  readonly uploads: number;
  readonly downloads: number;
  /** One request with its answer; one that sends more than a part of `partBytes`, as many times as long. */
  readonly requestMs: number;
  /** How often one request is sent. */
  readonly attempts: number;
  /** Of a part of an upload, at least. Stores refuse fewer than 5 MiB. */
  readonly partBytes: number;
  /** Of one upload; stores refuse more. */
  readonly parts: number;
  /** Names of one answer; stores give at most 1,000. */
  readonly listed: number;
}

export const OBJECT_STORE_LIMITS: ObjectStoreLimits = {
  ...{ uploads: 4, downloads: 16 },
  ...{ requestMs: 30_000, attempts: 6, partBytes: 8 * 1024 * 1024 },
  ...{ parts: 10_000, listed: 1_000 },
};

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5_000;
const MISSING_CODES: ReadonlySet<string> = new Set(["NoSuchKey", "NoSuchUpload"]);
const MAX_ERROR_CHARACTERS = 300;
const MAX_CODE_CHARACTERS = 40;
/** Stores refuse requests of a clock that is 15 minutes wrong. */
const MOST_CLOCK_SECONDS = 60;
/** The store was busy, took too long, or got other bytes than were sent. */
const PASSING_STATUS = new Set([408, 429, 500, 502, 503, 504]);
const PASSING_CODE = /<Code>(?:RequestTimeout|BadDigest|IncompleteBody|SlowDown|InternalError)<\/Code>/;
const NAME = /^[A-Za-z0-9/_.-]*$/;
/** First and last byte, and how many the object has. */
const CONTENT_RANGE = /^bytes (\d+)-(\d+)\/(\d+)$/;

export interface ObjectRange {
  readonly bytes: Buffer;
  /** Where they begin in the object. */
  readonly start: number;
  /** Of the whole object. */
  readonly size: number;
  /** Another one where the object is another one. */
  readonly tag: string;
}

interface Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Without the prefix. */
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Of the body, where it was computed already. */
  readonly md5?: Buffer;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

export class ObjectStore {
  readonly limits: ObjectStoreLimits;
  readonly #settings: ObjectStoreSettings;
  readonly #client: AwsClient;
  readonly #uploads: Slots;
  readonly #downloads: Slots;
  readonly #health: StoreHealth | undefined;

  /**
   * Throws `invalid_argument` for an endpoint that is not https and should be.
   *
   * @param health Told of each request.
   */
  constructor(settings: ObjectStoreSettings, health?: StoreHealth) {
    requireSettings(settings);
    this.#health = health;
    const { accessKeyId, secretAccessKey, sessionToken, region } = settings;
    const session = sessionToken === undefined ? {} : { sessionToken };
    this.#settings = settings;
    this.#client = new AwsClient({
      accessKeyId,
      secretAccessKey,
      ...session,
      region,
      service: "s3",
      retries: 0,
    });
    this.limits = { ...OBJECT_STORE_LIMITS, ...settings.limits };
    this.#uploads = new Slots(this.limits.uploads);
    this.#downloads = new Slots(this.limits.downloads);
  }

  /** @param range As in HTTP: `0-9`, or `-10` for the last ten bytes. `null`: there is no such object. */
  async get(name: string, range: string): Promise<ObjectRange | null> {
    const answer = await this.#send({ method: "GET", name, headers: { range: `bytes=${range}` } });
    if (isMissing(answer)) return null;
    const tag = answer.headers.get("etag") ?? "";
    // Of an object without bytes there is no range.
    if (answer.status === 416) return { bytes: Buffer.alloc(0), start: 0, size: 0, tag };
    const told = CONTENT_RANGE.exec(answer.headers.get("content-range") ?? "");
    if (answer.status === 206 && told !== null)
      return { bytes: answer.body, start: Number(told[1]), size: Number(told[3]), tag };
    return { bytes: this.#expect(answer, 200).body, start: 0, size: answer.body.length, tag };
  }

  /** Bytes of the object; `null`: there is none. */
  async sizeOf(name: string): Promise<number | null> {
    const answer = await this.#send({ method: "HEAD", name });
    if (isMissing(answer)) return null;
    return Number(this.#expect(answer, 200).headers.get("content-length"));
  }

  /** Replaces what is there. @param md5 Of the bytes; a store refuses what did not arrive as it was sent. */
  async put(name: string, body: Uint8Array, md5: Buffer): Promise<void> {
    this.#expect(await this.#send({ method: "PUT", name, body, md5 }), 200);
  }

  async beginUpload(name: string): Promise<string> {
    const answer = await this.#send({ method: "POST", name, query: { uploads: "" } });
    return textOf(this.#expectXml(answer, "InitiateMultipartUploadResult"), "UploadId");
  }

  /** @returns The tag that `endUpload` wants. */
  async putPart(
    { name, upload, number }: { readonly name: string; readonly upload: string; readonly number: number },
    body: Uint8Array,
    md5: Buffer,
  ): Promise<string> {
    const query = { partNumber: String(number), uploadId: upload };
    const answer = this.#expect(await this.#send({ method: "PUT", name, query, body, md5 }), 200);
    return answer.headers.get("etag") ?? "";
  }

  /** `missing`: there is no such upload, for instance because an earlier request has ended it and was not answered. */
  async endUpload(name: string, upload: string, tags: readonly string[]): Promise<"done" | "missing"> {
    const parts = tags.map(
      (tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`,
    );
    const body = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
    const answer = await this.#send({ method: "POST", name, query: { uploadId: upload }, body });
    if (isMissing(answer)) return "missing";
    // It is 200 before the store knows the outcome, and then the body tells.
    this.#expectXml(answer, "CompleteMultipartUploadResult");
    return "done";
  }

  async abortUpload(name: string, upload: string): Promise<void> {
    const answer = await this.#send({ method: "DELETE", name, query: { uploadId: upload } });
    if (!isMissing(answer)) this.#expect(answer, 204);
  }

  /** Nothing happens where there is none. */
  async remove(name: string): Promise<void> {
    const answer = await this.#send({ method: "DELETE", name });
    if (!isMissing(answer)) this.#expect(answer, 204, 200);
  }

  /** `false`: there is none. */
  async copy(from: string, to: string): Promise<boolean> {
    const { bucket, prefix } = this.#settings;
    const headers = { "x-amz-copy-source": `/${bucket}/${prefix}${from}` };
    const answer = await this.#send({ method: "PUT", name: to, headers });
    if (isMissing(answer)) return false;
    this.#expectXml(answer, "CopyObjectResult");
    return true;
  }

  /** Names that begin with `start` and have no slash behind it, ascending. */
  list(start: string): Promise<readonly string[]> {
    return this.#list(start, { delimiter: "/" }, /<Key>([^<]*)<\/Key>/g);
  }

  /** As `list`, some at a time. */
  listed(start: string): AsyncGenerator<readonly string[]> {
    return this.#pages(start, { delimiter: "/" }, /<Key>([^<]*)<\/Key>/g);
  }

  /** All names that begin with `start`, ascending. */
  listAll(start: string): Promise<readonly string[]> {
    return this.#list(start, {}, /<Key>([^<]*)<\/Key>/g);
  }

  /** What stands before the next slash in names that begin with `start`, with that slash, ascending. */
  listFolders(start: string): Promise<readonly string[]> {
    return this.#list(start, { delimiter: "/" }, /<CommonPrefixes>\s*<Prefix>([^<]*)<\/Prefix>/g);
  }

  async #list(start: string, more: Readonly<Record<string, string>>, found: RegExp): Promise<string[]> {
    const names: string[] = [];
    for await (const page of this.#pages(start, more, found)) names.push(...page);
    return names;
  }

  async *#pages(
    start: string,
    more: Readonly<Record<string, string>>,
    found: RegExp,
  ): AsyncGenerator<readonly string[]> {
    const { prefix } = this.#settings;
    for (let after = ""; ;) {
      const query = {
        ...{ "list-type": "2", prefix: `${prefix}${start}`, ...more },
        ...{ "max-keys": String(this.limits.listed) },
        ...(after === "" ? {} : { "start-after": after }),
      };
      const answer = await this.#send({ method: "GET", name: "", query });
      const text = this.#expectXml(answer, "ListBucketResult").body.toString();
      yield [...text.matchAll(found)].map((match) => match[1]!.slice(prefix.length));
      const last = [...text.matchAll(/<(?:Key|Prefix)>([^<]*)<\/(?:Key|Prefix)>/g)].map((match) => match[1]!);
      const next =
        last
          .filter((name) => name > after)
          .toSorted()
          .at(-1) ?? "";
      if (textOf(answer, "IsTruncated") !== "true") return;
      if (next === "")
        throw this.#failed(refused(answer, "a list that says there is more, and adds nothing"));
      // Behind all names of a folder.
      after = next.endsWith("/") ? `${next}~` : next;
    }
  }

  #expect(answer: Answer, ...statuses: readonly number[]): Answer {
    if (!statuses.includes(answer.status)) throw this.#failed(refused(answer));
    return answer;
  }

  /** 200 with that element, whole: a proxy may answer 200 with a page of its own, which would be an empty list. */
  #expectXml(answer: Answer, element: string): Answer {
    const text = this.#expect(answer, 200).body.toString();
    if (text.includes(`<${element}`) && text.includes(`</${element}>`)) return answer;
    throw this.#failed(refused(answer, text.includes("<Error>") ? "" : "what came is no S3 answer"));
  }

  #failed(failure: StoreFailure): StoreFailure {
    this.#health?.failed(failure);
    return failure;
  }

  async #send(request: Request): Promise<Answer> {
    const slots = request.method === "PUT" || request.method === "POST" ? this.#uploads : this.#downloads;
    for (let attempt = 1, pause = FIRST_PAUSE_MS; ; attempt++) {
      const answer = await slots.run(() => this.#once(request)).catch((error: unknown) => failureOf(error));
      if (!(answer instanceof Error) && !isPassing(answer)) {
        if (isUseful(answer)) this.#health?.answered();
        return answer;
      }
      if (attempt >= this.limits.attempts)
        throw this.#failed(answer instanceof Error ? unanswered(answer) : refused(answer));
      await sleep(pause * (0.5 + Math.random()));
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    }
  }

  async #once({ method, name, query = {}, headers = {}, body, md5 }: Request): Promise<Answer> {
    const { endpoint, bucket, prefix } = this.#settings;
    const { requestMs, partBytes } = this.limits;
    const key = name === "" && method === "GET" ? "" : `/${prefix}${name}`;
    const search = new URLSearchParams(query).toString();
    const sum = body === undefined ? {} : { "content-md5": (md5 ?? md5Of(body)).toString("base64") };
    const signed = await this.#client.sign(`${endpoint}/${bucket}${key}${search && `?${search}`}`, {
      method,
      headers: { ...headers, ...sum },
      ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
    });
    const response = await fetch(signed, {
      signal: AbortSignal.timeout(Math.ceil(requestMs * Math.max(1, (body?.length ?? 0) / partBytes))),
      redirect: "error",
    });
    const { status, headers: told } = response;
    const answer = { status, headers: told, body: await bodyOf(response, method) };
    if (md5 !== undefined) requireArrived(answer, md5);
    requireWhole(answer);
    return answer;
  }
}

/** Tags of what was put whole are MD5 sums, but for some ways of encryption. */
function requireArrived({ status, headers }: Answer, md5: Buffer): void {
  const tag = /^"?([0-9a-f]{32})"?$/.exec(headers.get("etag") ?? "")?.[1];
  const isEncrypted = /kms|customer/.test([...headers.entries()].join(" ").toLowerCase());
  if (status !== 200 || tag === undefined || isEncrypted || tag === md5.toString("hex")) return;
  throw new Error("the object store has other bytes than were sent");
}

/** A proxy may cut an answer and make its length fit. */
function requireWhole({ status, headers, body }: Answer): void {
  const told = status === 206 ? CONTENT_RANGE.exec(headers.get("content-range") ?? "") : null;
  if (told !== null && body.length !== Number(told[2]) - Number(told[1]) + 1)
    throw new Error("the object store answers with another length than it says");
}

function md5Of(body: Uint8Array | string): Buffer {
  return createHash("md5").update(body).digest();
}

/** A store also says 404 for a bucket or a key of access that it does not know, which tells nothing of the object. */
function isMissing(answer: Answer): boolean {
  const code = codeOf(answer);
  return answer.status === 404 && (code === undefined || MISSING_CODES.has(code));
}

/** It says something of the object. */
function isUseful(answer: Answer): boolean {
  return answer.status < 300 || answer.status === 416 || isMissing(answer);
}

function codeOf({ body }: Answer): string | undefined {
  return /<Code>([^<]*)<\/Code>/.exec(body.toString("latin1", 0, 4_096))?.[1];
}

function isPassing({ status, body }: Answer): boolean {
  return PASSING_STATUS.has(status) || PASSING_CODE.test(body.subarray(0, 4_096).toString("latin1"));
}

function failureOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function unanswered(error: Error): StoreFailure {
  const cause = error.cause instanceof Error ? error.cause : error;
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : cause.name;
  return new StoreFailure(code, cause.message.slice(0, MAX_ERROR_CHARACTERS), error);
}

function refused(answer: Answer, words = ""): StoreFailure {
  const { status, headers, body } = answer;
  const code = codeOf(answer)?.slice(0, MAX_CODE_CHARACTERS);
  const text = body.toString("utf8", 0, 4_096);
  const said = code === undefined ? text.replaceAll(/<[^>]*>/g, " ").trim() : textOf(answer, "Message");
  const all = [words, clockOf(headers), said.slice(0, MAX_ERROR_CHARACTERS)].filter((one) => one !== "");
  return new StoreFailure(code === undefined ? String(status) : `${status} ${code}`, all.join("; "));
}

/** Where the clock of this machine is not that of the store, which refuses what is signed so: by how much. */
function clockOf(headers: Headers): string {
  const seconds = Math.round((Date.parse(headers.get("date") ?? "") - Date.now()) / 1_000);
  if (!(Math.abs(seconds) > MOST_CLOCK_SECONDS)) return "";
  const side = seconds > 0 ? "behind" : "before";
  return `the clock of this machine is ${Math.abs(seconds)} s ${side} the store's`;
}

function textOf({ body }: Answer, element: string): string {
  return new RegExp(`<${element}>([^<]*)</${element}>`).exec(body.toString())?.[1] ?? "";
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

function requireSettings({ endpoint, bucket, prefix, allowPlaintext = false }: ObjectStoreSettings): void {
  const { protocol, hostname } = new URL(endpoint);
  const isHere = hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
  if (protocol !== "https:" && !isHere && !allowPlaintext)
    throw new SheafError("invalid_argument", `the object store on ${hostname} must be asked over https`);
  if (!NAME.test(bucket + prefix) || bucket === "" || (prefix !== "" && !/^[^/].*\/$/.test(prefix)))
    throw new SheafError("invalid_argument", `${bucket}/${prefix} is no bucket with a prefix`);
}
