/**
 * A proxy that speaks TLS before a served Sheaf, as an operator would put one there. Its certificate is made for it and
 * signs itself, so a client has to be told of it (`NODE_EXTRA_CA_CERTS`).
 */
import { once } from "node:events";
import { request } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";
import { selfSigned } from "./self-signed.ts";

export interface TlsProxy {
  readonly host: "localhost";
  readonly port: number;
  /** PEM. */
  readonly certificate: string;
  close(): Promise<void>;
}

/** @param target Where plain HTTP goes on to. */
export async function startTlsProxy(target: string): Promise<TlsProxy> {
  const { certificate, key } = selfSigned();
  const server = createServer({ cert: certificate, key }, (incoming, outgoing) => {
    const { method, url = "/", headers } = incoming;
    const forwarded = request(new URL(url, target), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      pipeline(answer, outgoing, ignoreBroken);
    });
    forwarded.once("error", () => outgoing.destroy());
    pipeline(incoming, forwarded, ignoreBroken);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { host: "localhost", port, certificate, close: () => close(server) };
}

/** A broken connection shows at the client; both streams are gone by then. */
function ignoreBroken(): void {}

async function close(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}
