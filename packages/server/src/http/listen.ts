/**
 * Listens on a host: on every address that `localhost` has, and on the one address of any other. Connections of all
 * listeners are those of the app's server, with its bounds.
 */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { type AddressInfo, type Server, createServer } from "node:net";
import type { FastifyInstance } from "fastify";
import { SettingError } from "../setting-error.ts";

export async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  const [first = host, ...others] =
    host === "localhost" ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];
  try {
    await app.listen({ host: first, port });
  } catch (error) {
    throw portError(error, port);
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

/** Throws a `SettingError` where another program listens on the port. */
export async function requireFreePort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const probe = createServer();
  try {
    probe.listen({ host, port });
    await once(probe, "listening");
  } catch (error) {
    throw portError(error, port);
  }
  probe.close();
  await once(probe, "close");
}

function portError(error: unknown, port: number): unknown {
  const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  if (!isTaken) return error;
  return new SettingError(`port ${port} is in use; choose another with --port`, { cause: error });
}

/** An address that this machine does not have, or that somebody else listens on, is left out. */
function bound(listener: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve) => {
    listener.once("error", () => resolve());
    listener.listen({ host, port }, resolve);
  });
}
