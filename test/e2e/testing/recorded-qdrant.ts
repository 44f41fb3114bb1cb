/** Answers of a Qdrant server in the form that its REST interface documents (1.9 to 1.19), page by page. No Qdrant runs here. */
import { type Server, createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

export const QDRANT_KEY = "qdrant-key";
const NOT_FOUND = 404;
const FORBIDDEN = 403;

export interface RecordedCollection {
  /** `config.params` as JSON. */
  readonly params: string;
  /** Points as JSON, in the order of their ids. */
  readonly points: readonly string[];
}

export class RecordedQdrant {
  readonly #server: Server;
  readonly #collections: Readonly<Record<string, RecordedCollection>>;
  /** Scrolls that are answered before the server ends connections instead. */
  scrollsLeft = Number.POSITIVE_INFINITY;
  /** Offsets that were asked for. */
  readonly offsets: unknown[] = [];

  private constructor(collections: Readonly<Record<string, RecordedCollection>>) {
    this.#collections = collections;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { url = "", headers } = request;
        if (headers["api-key"] !== QDRANT_KEY) {
          response.writeHead(FORBIDDEN).end("Must provide an API key or an Authorization bearer token");
          return;
        }
        const body = Buffer.concat(chunks).toString();
        const result = this.#answer(url, JSON.parse(body === "" ? "{}" : body) as Scroll);
        if (result === null) {
          response.destroy();
          return;
        }
        response.writeHead(result === "" ? NOT_FOUND : 200, { "content-type": "application/json" });
        const missing = '{"status":{"error":"Not found: Collection doesn\'t exist!"},"time":1.4e-5}';
        response.end(result === "" ? missing : `{"result":${result},"status":"ok","time":0.000123}`);
      });
    });
  }

  static async start(collections: Readonly<Record<string, RecordedCollection>>): Promise<RecordedQdrant> {
    const recorded = new RecordedQdrant(collections);
    await once(recorded.#server.listen(0, "127.0.0.1"), "listening");
    return recorded;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** `""`: there is no such collection; `null`: the connection breaks. */
  #answer(url: string, body: Scroll): string | null {
    if (url === "/collections") {
      const names = Object.keys(this.#collections).map((name) => ({ name }));
      return JSON.stringify({ collections: names });
    }
    const [, , name = "", , verb] = url.split("/").map(decodeURIComponent);
    const collection = this.#collections[name];
    if (collection === undefined) return "";
    const { points, params } = collection;
    if (verb === "count") return `{"count":${points.length}}`;
    if (verb !== "scroll") return describe(params, points.length);
    this.scrollsLeft -= 1;
    if (this.scrollsLeft < 0) return null;
    this.offsets.push(body.offset);
    const ids = points.map((point) => (JSON.parse(point) as { readonly id: unknown }).id);
    const from = body.offset === null ? 0 : ids.indexOf(body.offset);
    const to = from + body.limit;
    const next = to < ids.length ? JSON.stringify(ids[to]) : "null";
    return `{"points":[${points.slice(from, to).join(",")}],"next_page_offset":${next}}`;
  }
}

interface Scroll {
  readonly limit: number;
  readonly offset: unknown;
}

function describe(params: string, count: number): string {
  return `{"status":"green","optimizer_status":"ok","indexed_vectors_count":0,"points_count":${count},"segments_count":2,
    "config":{"params":${params},"hnsw_config":{"m":16,"ef_construct":100,"full_scan_threshold":10000,"max_indexing_threads":0,"on_disk":false},
    "optimizer_config":{"deleted_threshold":0.2,"vacuum_min_vector_number":1000,"default_segment_number":0,"flush_interval_sec":5},
    "wal_config":{"wal_capacity_mb":32,"wal_segments_ahead":0},"quantization_config":null},"payload_schema":{}}`;
}
