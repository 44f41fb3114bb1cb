/** A client that keeps its connections and sends prepared bytes, so that little of what is timed is its own. */
import { Agent, request } from "node:http";
import type { RequestForm } from "./raw-connection.ts";

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

export class HttpClient {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = new URL(url);
    this.#headers = headers;
  }

  /** What a load generator needs to send the same requests by itself. */
  formOf(path: string): RequestForm {
    return { url: this.#url, path, headers: this.#headers };
  }

  post(path: string, body: Buffer): Promise<Answer> {
    return this.#send("POST", path, body);
  }

  get(path: string): Promise<Answer> {
    return this.#send("GET", path, null);
  }

  /** Sends JSON, expects a success, gives the parsed answer. `headers` come beside those of the client, or instead. */
  async ask<T>(
    path: string,
    value: object | null = null,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    const body = value === null ? null : Buffer.from(JSON.stringify(value));
    const answer = await this.#send(body === null ? "GET" : "POST", path, body, headers);
    return JSON.parse(succeeded(answer).toString()) as T;
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(
    method: string,
    path: string,
    body: Buffer | null,
    own: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const { hostname, port } = this.#url;
    const content =
      body === null ? {} : { "content-type": "application/json", "content-length": body.byteLength };
    const headers = { ...this.#headers, ...own, ...content };
    return new Promise((resolve, reject) => {
      const sent = request({ agent: this.#agent, hostname, port, method, path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
        response.on("error", reject);
      });
      sent.on("error", reject);
      sent.end(body ?? undefined);
    });
  }
}

/** The body of a success; anything else throws what the server said. */
export function succeeded({ status, body }: Answer): Buffer {
  if (status < 200 || status > 299) throw new Error(`status ${status}: ${body.subarray(0, 500).toString()}`);
  return body;
}
