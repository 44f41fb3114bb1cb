/**
 * Puts a reply on its connection: compressed where the client takes that and it is worth it, and watched, so that a
 * receiver that is slow is cut. Compression runs on the thread pool.
 */
import { pipeline } from "node:stream";
import { promisify } from "node:util";
import { constants, createGzip, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Reply } from "./route.ts";
import type { SlowReceivers } from "./slow-receivers.ts";

/** Shorter replies are sooner sent than compressed. */
const COMPRESSED_BYTES = 16 * 1024;
const GZIP_OPTIONS = { level: constants.Z_BEST_SPEED };
const GZIP = /(?:^|,)\s*(?:gzip|x-gzip|\*)\s*(?:;\s*q=(?<weight>[\d.]+)\s*)?(?=,|$)/iu;

const compressed = promisify<Buffer, { level: number }, Buffer>(gzip);

export function sendReply(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers, body }: Reply,
  receivers: SlowReceivers,
): Promise<void> | undefined {
  // Fastify would add the charset by itself, after a look at the type.
  void reply.code(status).type("application/json; charset=utf-8");
  if (headers !== undefined) void reply.headers(headers);
  const length = typeof body === "string" ? body.length : body.byteLength;
  if (length < COMPRESSED_BYTES) {
    void reply.send(body);
    if (reply.raw.socket !== null && reply.raw.socket.writableLength > 0) receivers.watch(reply.raw);
    return undefined;
  }
  receivers.watch(reply.raw);
  addVary(reply, "accept-encoding");
  const isCompressed = takesGzip(request.headers["accept-encoding"]) && !reply.hasHeader("content-encoding");
  if (!isCompressed) {
    if (typeof body !== "string") void reply.header("content-length", body.byteLength);
    void reply.send(body);
    return undefined;
  }
  void reply.header("content-encoding", "gzip");
  if (typeof body === "string")
    return compressed(Buffer.from(body), GZIP_OPTIONS).then((bytes) => void reply.send(bytes));
  // What fails shows on the connection, which is destroyed with the stream.
  void reply.send(pipeline(body, createGzip(GZIP_OPTIONS), () => undefined));
  return undefined;
}

/** Whether a client takes gzip (RFC 9110, 12.5.3). */
export function takesGzip(accepted: string | string[] | undefined): boolean {
  const match = GZIP.exec(String(accepted ?? ""));
  return match !== null && Number(match.groups?.["weight"] ?? 1) > 0;
}

function addVary(reply: FastifyReply, name: string): void {
  const before = reply.getHeader("vary");
  void reply.header("vary", before === undefined ? name : `${String(before)}, ${name}`);
}
