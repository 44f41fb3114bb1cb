/** A port that serves the metrics without a key, for a collector beside the server. */
import { type IncomingMessage, type Server, createServer } from "node:http";
import type { Logger } from "pino";
import { type ListenSettings, listenError } from "../listen-error.ts";

const REQUEST_MS = 15_000;
const MAX_CONNECTIONS = 64;

export interface MetricsListenerOptions {
  /** Port 0: a free one. */
  readonly at: ListenSettings;
  readonly render: () => Promise<string>;
  /** Why a request is refused; `null`: it is not. */
  readonly refusal: (request: IncomingMessage) => string | null;
  readonly logger: Logger;
}

export interface MetricsListener {
  readonly port: number;
  close(): Promise<void>;
}

/** Rejects where the port cannot be had. */
export async function listenForMetrics(options: MetricsListenerOptions): Promise<MetricsListener> {
  const { at, render, refusal, logger } = options;
  const timeouts = { headersTimeout: REQUEST_MS, requestTimeout: REQUEST_MS };
  const server = createServer({ ...timeouts, requireHostHeader: false }, (request, response) => {
    const refused = refusal(request);
    if (refused !== null) {
      response.writeHead(403, { "content-type": "text/plain" }).end(`${refused}\n`);
      return;
    }
    if (request.method !== "GET" || request.url !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    render().then(
      (text) => response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(text),
      (error: unknown) => {
        logger.error({ err: error }, "the metrics could not be made");
        response.writeHead(500).end();
      },
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listening(server, at);
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : at.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, at: ListenSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: Error): void => reject(listenError(error, at));
    server.once("error", refuse);
    server.listen(at.port, at.host, () => {
      server.off("error", refuse);
      resolve();
    });
  });
}
