/**
 * Listens on a host: on every address that `localhost` has, and on the one address of any other. Connections of all
 * listeners are those of the app's server, with its bounds.
 */
import { lookup } from "node:dns/promises";
import { type AddressInfo, type Server, createServer } from "node:net";
import type { FastifyInstance } from "fastify";
import { type ListenSettings, listenError } from "../listen-error.ts";

/**
 * Rejects where `listen` would, before anything is made for a server that cannot be. Whoever takes the port after that finds
 * `listen` reject all the same.
 */
export function requireFree(settings: ListenSettings): Promise<void> {
  const { host, port } = settings;
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once("error", (error) => reject(listenError(error, settings)));
    probe.listen({ host, port }, () => probe.close(() => resolve()));
  });
}

export async function listen(app: FastifyInstance, settings: ListenSettings): Promise<void> {
  const { host, port } = settings;
  const [first = host, ...others] =
    host === "localhost" ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];
  try {
    await app.listen({ host: first, port });
  } catch (error) {
    throw listenError(error, settings);
  }
  const taken = (app.server.address() as AddressInfo).port;
  for (const address of new Set(others)) {
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      app.server.emit("connection", socket),
    );
    app.server.on("close", () => listener.close());
    await bound(listener, address, taken);
  }
}

/** An address that this machine does not have, or that somebody else listens on, is left out. */
function bound(listener: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve) => {
    listener.once("error", () => resolve());
    listener.listen({ host, port }, resolve);
  });
}
