/** Requests over connections that stay open, each in the name of a key. */
import { Agent, request } from "node:http";

export class TenantClient {
  readonly #agent: Agent;
  readonly #port: number;

  constructor(url: string, connections: number) {
    this.#port = Number(new URL(url).port);
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Sends JSON and gives the answer, parsed where it is JSON; throws for another status than 200 or 201. `undefined` is a GET. */
  ask<T>(key: string, path: string, json?: unknown): Promise<T> {
    const body = json === undefined ? undefined : JSON.stringify(json);
    return new Promise((resolve, reject) => {
      const asked = request(
        {
          ...{ host: "127.0.0.1", port: this.#port, path, agent: this.#agent },
          method: body === undefined ? "GET" : "POST",
          headers: {
            "x-service-token": key,
            ...(body !== undefined && {
              "content-type": "application/json",
              "content-length": Buffer.byteLength(body),
            }),
          },
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (chunk: string) => (text += chunk));
          response.once("error", reject);
          response.once("end", () => {
            const { statusCode = 0 } = response;
            if (statusCode !== 200 && statusCode !== 201)
              reject(new Error(`${path}: ${statusCode} ${text.slice(0, 500)}`));
            else resolve((text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text) as T);
          });
        },
      );
      asked.once("error", reject);
      asked.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
