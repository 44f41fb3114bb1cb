/** A port of this machine alone that serves the metrics without a key, for a collector beside the server. */
import { type Server, createServer } from "node:http";
import type { Logger } from "pino";

const LOOPBACK = "127.0.0.1";

export interface MetricsListener {
  readonly port: number;
  close(): Promise<void>;
}

/** @param port 0: a free one. Rejects where it cannot be had. */
export async function listenForMetrics(
  port: number,
  render: () => Promise<string>,
  logger: Logger,
): Promise<MetricsListener> {
  const server = createServer((request, response) => {
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
  await listening(server, port);
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, LOOPBACK, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
