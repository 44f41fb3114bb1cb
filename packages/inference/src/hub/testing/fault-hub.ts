/**
 * A hub over real HTTP that serves folders and misbehaves on demand. Large files are redirected to a second host, as
 * the real one does.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join, relative } from "node:path";

export type Fault =
  /** Sends so many bytes, then breaks the connection. */
  | { readonly type: "cut"; readonly afterBytes: number }
  /** Sends bytes of the right length and another content. */
  | { readonly type: "wrong_bytes" }
  | { readonly type: "status"; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** Sends the whole file although a part was asked for. */
  | { readonly type: "ignore_range" }
  /** Takes the request and never answers. */
  | { readonly type: "silence" };

export interface HubRequestRecord {
  readonly host: "hub" | "files";
  readonly path: string;
  readonly authorization: string | null;
  readonly range: string | null;
}

interface Repository {
  readonly commit: string;
  readonly files: ReadonlyMap<string, Buffer>;
}

/** From this size on a file is listed with its SHA-256 and served by the second host. */
const LARGE_BYTES = 20_000;
const CUT_AFTER_MS = 50;

export class FaultHub {
  readonly requests: HubRequestRecord[] = [];
  readonly #repositories = new Map<string, Repository>();
  readonly #faults: { readonly match: string; readonly fault: Fault }[] = [];
  readonly #hub: Server;
  readonly #files: Server;
  #token: string | null = null;

  private constructor() {
    this.#hub = createServer((request, response) => this.#answerHub(request, response));
    this.#files = createServer((request, response) => this.#answerFiles(request, response));
  }

  static async start(): Promise<FaultHub> {
    const hub = new FaultHub();
    for (const server of [hub.#hub, hub.#files]) {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    }
    return hub;
  }

  get endpoint(): string {
    return originOf(this.#hub);
  }

  /** Serves the files of a folder as a repository at a commit. */
  publish(repository: string, commit: string, folder: string): void {
    const paths = readdirSync(folder, { recursive: true }).map(String);
    const files = paths.filter((path) => statSync(join(folder, path)).isFile());
    this.#repositories.set(repository, {
      commit,
      files: new Map(files.map((path) => [relative(".", path), readFileSync(join(folder, path))])),
    });
  }

  /** The next request whose path contains `match` meets the fault; several wait in line. */
  failNext(match: string, fault: Fault, times = 1): void {
    for (let count = 0; count < times; count++) this.#faults.push({ match, fault });
  }

  requireToken(token: string): void {
    this.#token = token;
  }

  async close(): Promise<void> {
    for (const server of [this.#hub, this.#files]) {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    }
  }

  #answerHub(request: IncomingMessage, response: ServerResponse): void {
    const path = this.#record("hub", request);
    const fault = this.#takeFault(path);
    if (fault !== null && isWhole(fault)) {
      respondWith(fault, response);
      return;
    }
    if (this.#token !== null && request.headers.authorization !== `Bearer ${this.#token}`) {
      response.writeHead(401).end("Invalid credentials");
      return;
    }
    const listing = /^\/api\/models\/(.+)\/revision\/([^?]+)\?blobs=true$/u.exec(path);
    if (listing !== null) this.#list(listing[1] ?? "", listing[2] ?? "", response);
    else this.#resolve(path, { request, response, fault });
  }

  #list(name: string, revision: string, response: ServerResponse): void {
    const repository = this.#repositories.get(name);
    if (repository === undefined || (revision !== "main" && revision !== repository.commit)) {
      response.writeHead(404).end("Repository not found");
      return;
    }
    const siblings = [...repository.files].map(([rfilename, content]) => {
      const size = content.length;
      const blobId = createHash("sha1").update(`blob ${size}\0`).update(content).digest("hex");
      return size < LARGE_BYTES
        ? { rfilename, size, blobId }
        : { rfilename, size, blobId, lfs: { sha256: sha256(content), size, pointerSize: 134 } };
    });
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ sha: repository.commit, siblings }));
  }

  #resolve(path: string, exchange: Exchange): void {
    const [, name = "", commit, file = ""] =
      /^\/([^/]+\/[^/]+)\/resolve\/([0-9a-f]{40})\/(.+)$/u.exec(path) ?? [];
    const repository = this.#repositories.get(name);
    const content =
      repository?.commit === commit ? repository?.files.get(decodeURIComponent(file)) : undefined;
    if (content === undefined) {
      exchange.response.writeHead(404).end("Entry not found");
    } else if (content.length < LARGE_BYTES) {
      send(content, exchange);
    } else {
      // The fault is for the host that has the file.
      if (exchange.fault !== null) this.#faults.unshift({ match: path, fault: exchange.fault });
      exchange.response.writeHead(302, { location: `${originOf(this.#files)}${path}` }).end();
    }
  }

  #answerFiles(request: IncomingMessage, response: ServerResponse): void {
    const path = this.#record("files", request);
    const [, name = "", file = ""] = /^\/([^/]+\/[^/]+)\/resolve\/[0-9a-f]{40}\/(.+)$/u.exec(path) ?? [];
    const content = this.#repositories.get(name)?.files.get(decodeURIComponent(file));
    if (content === undefined) response.writeHead(404).end();
    else send(content, { request, response, fault: this.#takeFault(path) });
  }

  #record(host: "hub" | "files", request: IncomingMessage): string {
    const path = request.url ?? "/";
    const { authorization = null, range = null } = request.headers;
    this.requests.push({ host, path, authorization, range });
    return path;
  }

  #takeFault(path: string): Fault | null {
    const index = this.#faults.findIndex(({ match }) => path.includes(match));
    return index === -1 ? null : (this.#faults.splice(index, 1)[0]?.fault ?? null);
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly fault: Fault | null;
}

function isWhole(fault: Fault): fault is Fault & { readonly type: "status" | "silence" } {
  return fault.type === "status" || fault.type === "silence";
}

function respondWith(fault: Fault & { readonly type: "status" | "silence" }, response: ServerResponse): void {
  if (fault.type === "status") response.writeHead(fault.status, fault.headers).end();
}

function send(content: Buffer, { request, response, fault }: Exchange): void {
  if (fault !== null && isWhole(fault)) {
    respondWith(fault, response);
    return;
  }
  const asked = /^bytes=(\d+)-$/u.exec(request.headers.range ?? "");
  const start = asked === null || fault?.type === "ignore_range" ? 0 : Number(asked[1]);
  const body =
    fault?.type === "wrong_bytes" ? Buffer.alloc(content.length - start, 7) : content.subarray(start);
  const range = { "content-range": `bytes ${start}-${content.length - 1}/${content.length}` };
  response.writeHead(start === 0 ? 200 : 206, {
    "content-length": body.length,
    ...(start === 0 ? {} : range),
  });
  // What lies in the receiver's buffers when the connection breaks is lost; a pause lets it be read.
  if (fault?.type === "cut") {
    response.write(body.subarray(0, fault.afterBytes), () =>
      setTimeout(() => response.destroy(), CUT_AFTER_MS),
    );
  } else {
    response.end(body);
  }
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
