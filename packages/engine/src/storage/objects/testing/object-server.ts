/**
 * An S3 server on loopback, and a server before it that fails on demand. `SHEAF_TEST_VERSITYGW` names the program of a real
 * one. Else it is npm's `s3rver`, which checks neither signatures nor sums and knows no conditions; the server in front adds
 * what it lacks of the API and we use: ranges from the end, pages of names, and that an upload which was ended is no more.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import {
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
  createServer,
  request,
} from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ObjectStoreSettings } from "../object-store.ts";
import { startVersitygw } from "./versitygw.ts";

/**
 * `busy`: 503. `cut`: the connection ends. `flip`: one byte of what is sent or read is another one. `lost`: done, and not
 * answered. `more`: a list that goes on, and adds nothing. `page`: a proxy answers with a page of its own. `short`: the first byte of what is read is left out. `denied`: 403.
 * `skewed`: 403 of a store whose clock is a day ahead.
 */
export type Fault = "busy" | "cut" | "flip" | "lost" | "more" | "page" | "short" | "denied" | "skewed";

interface S3rver {
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
}

/** The S3 server itself. */
export interface StoreBehind {
  readonly port: number;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Has all of the API that is used. */
  readonly isWhole: boolean;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

const NO_UPLOAD = Buffer.from("<Error><Code>NoSuchUpload</Code></Error>");
const BUCKET = "sheaf-test";
const DAY_MS = 86_400_000;
/** Said in the place of the store. */
const SAID: Readonly<Partial<Record<Fault, readonly [status: number, body: string, aheadMs: number]>>> = {
  busy: [503, "<Error><Code>SlowDown</Code></Error>", 0],
  more: [200, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", 0],
  page: [200, "<html>Please sign in</html>", 0],
  denied: [403, "<Error><Code>AccessDenied</Code><Message>Nobody may</Message></Error>", 0],
  skewed: [403, "<Error><Code>RequestTimeTooSkewed</Code></Error>", DAY_MS],
};

export class ObjectServer {
  /** Asked for each request; `null`: it passes. */
  fault: (call: string) => Fault | null = () => null;
  /** Each request waits for it. */
  pause: (call: string, range: string) => Promise<void> | null = () => null;
  /** Methods and paths, with queries, of all requests. */
  readonly calls: string[] = [];
  readonly #folder: string;
  readonly #store: StoreBehind;
  readonly #front: Server;
  /** Uploads that are objects now. */
  readonly #ended = new Set<string>();
  #prefixes = 0;

  private constructor(folder: string, store: StoreBehind) {
    this.#folder = folder;
    this.#store = store;
    this.#front = createServer((asked, reply) => void this.#pass(asked, reply).catch(() => reply.destroy()));
  }

  static async start(): Promise<ObjectServer> {
    const folder = mkdtempSync(join(tmpdir(), "sheaf-objects-"));
    const program = process.env["SHEAF_TEST_VERSITYGW"];
    const store = await (program === undefined
      ? startS3rver(folder)
      : startVersitygw(program, folder, BUCKET));
    const server = new ObjectServer(folder, store);
    server.#front.listen(0, "127.0.0.1");
    await once(server.#front, "listening");
    return server;
  }

  /** The first request of the kind fails. Gives whether it has come. */
  failOnce(kind: RegExp, fault: Fault): () => boolean {
    let isDone = false;
    this.fault = (call) => {
      if (isDone || !kind.test(call)) return null;
      isDone = true;
      return fault;
    };
    return () => isDone;
  }

  /** Where nothing is yet. */
  settings(): ObjectStoreSettings {
    this.#prefixes += 1;
    const { port } = this.#front.address() as AddressInfo;
    return {
      ...{ endpoint: `http://127.0.0.1:${port}`, bucket: BUCKET, prefix: `a/${this.#prefixes}/` },
      ...{ region: "us-east-1" },
      ...{ accessKeyId: this.#store.accessKeyId, secretAccessKey: this.#store.secretAccessKey },
    };
  }

  async close(): Promise<void> {
    this.#front.closeAllConnections();
    this.#front.close();
    await this.#store.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #pass(asked: IncomingMessage, reply: ServerResponse): Promise<void> {
    const call = `${asked.method ?? ""} ${asked.url ?? ""}`;
    this.calls.push(call);
    await this.pause(call, asked.headers.range ?? "");
    const fault = this.fault(call);
    const body: Buffer = Buffer.concat(await asked.toArray());
    const said = fault && SAID[fault];
    if (said) {
      const [status, text, aheadMs] = said;
      const date = new Date(Date.now() + aheadMs).toUTCString();
      // What answers HEAD has no body.
      reply.writeHead(status, { date }).end(text);
      return;
    }
    if (fault === "cut") {
      reply.destroy();
      return;
    }
    if (fault === "flip" && body.length > 0) body[body.length >> 1]! ^= 1;
    const answer = await this.#answer(asked, body);
    if (fault === "short") {
      reply.writeHead(answer.status, { ...answer.headers, "content-length": answer.body.length - 1 });
      reply.end(answer.body.subarray(1));
      return;
    }
    if (fault === "flip" && asked.method === "GET") answer.body[answer.body.length >> 1]! ^= 1;
    if (fault === "lost") reply.destroy();
    else reply.writeHead(answer.status, answer.headers).end(answer.body);
  }

  async #answer(asked: IncomingMessage, body: Buffer): Promise<Answer> {
    if (this.#store.isWhole) return this.#forward(asked, body);
    const url = new URL(asked.url ?? "", "http://s3");
    const upload = asked.method === "POST" ? url.searchParams.get("uploadId") : null;
    if (upload !== null && this.#ended.has(upload)) return { status: 404, headers: {}, body: NO_UPLOAD };
    const last = /^bytes=-(\d+)$/.exec(asked.headers.range ?? "")?.[1];
    const headers = { ...asked.headers };
    if (last !== undefined) delete headers.range;
    const mostKeys = Number(url.searchParams.get("max-keys"));
    if (mostKeys > 0) url.searchParams.set("max-keys", "1000");
    const answer = await this.#forward(
      { method: asked.method, headers, url: url.pathname + url.search },
      body,
    );
    if (upload !== null && answer.status === 200) this.#ended.add(upload);
    if (answer.status !== 200) return answer;
    if (last !== undefined) return lastBytes(answer, Number(last));
    return mostKeys > 0 ? firstNames(answer, mostKeys) : answer;
  }

  async #forward(
    { method, url, headers }: Pick<IncomingMessage, "method" | "url" | "headers">,
    body: Buffer,
  ): Promise<Answer> {
    const to = { host: "127.0.0.1", port: this.#store.port };
    const passed = request({ ...to, method, path: url, headers });
    passed.end(body);
    const [answer] = (await once(passed, "response")) as [IncomingMessage];
    const { statusCode: status = 500, headers: answered } = answer;
    return { status, headers: answered, body: Buffer.concat(await answer.toArray()) };
  }
}

async function startS3rver(folder: string): Promise<StoreBehind> {
  const S3rver = createRequire(import.meta.url)("s3rver") as new (options: object) => S3rver;
  const options = { address: "127.0.0.1", port: 0, silent: true, directory: folder, vhostBuckets: false };
  // Its signatures are over the host that was asked, which is the one in front.
  const store = new S3rver({ ...options, configureBuckets: [{ name: BUCKET }] });
  const { port } = await store.run();
  const keys = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
  return { port, ...keys, isWhole: false, close: () => store.close() };
}

function lastBytes({ headers, body }: Answer, count: number): Answer {
  if (body.length === 0) return { status: 416, headers: {}, body };
  const start = Math.max(0, body.length - count);
  const range = `bytes ${start}-${body.length - 1}/${body.length}`;
  const part = body.subarray(start);
  return {
    status: 206,
    headers: { ...headers, "content-range": range, "content-length": String(part.length) },
    body: part,
  };
}

function firstNames({ headers, body }: Answer, count: number): Answer {
  const entries = body.toString().match(/<Contents>.*?<\/Contents>/gs) ?? [];
  if (entries.length <= count) return { status: 200, headers, body };
  const page = `<ListBucketResult><IsTruncated>true</IsTruncated>${entries.slice(0, count).join("")}</ListBucketResult>`;
  return { status: 200, headers: {}, body: Buffer.from(page) };
}
