/** Requests whose replies nobody reads, and what the server says of replies in its metrics. */
import { type Socket, connect } from "node:net";
import type { Stage } from "./stage.ts";
import type { Tenant } from "./tenant.ts";

/** Sends a tenant's request, a GET without a body, and reads nothing of the answer. */
export function askUnread({ url, key }: Tenant, path: string, body?: unknown): Socket {
  const { hostname, port } = new URL(url);
  const json = body === undefined ? "" : JSON.stringify(body);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.on("error", () => undefined);
  const method = body === undefined ? "GET" : "POST";
  const headers = [`${method} ${path} HTTP/1.1`, `host: ${hostname}`, `x-service-token: ${key}`];
  if (body !== undefined) {
    headers.push("content-type: application/json", `content-length: ${Buffer.byteLength(json)}`);
  }
  socket.write(`${headers.join("\r\n")}\r\n\r\n${json}`);
  return socket;
}

/** Bytes of replies that are being made or sent, in memory and on disk. */
export function replyBytes(stage: Stage): Promise<readonly number[]> {
  return metrics(stage, /^sheaf_reply_bytes\{where="\w+"\} (\d+)$/gmu);
}

/** Reads that the engine host holds open between two batches. */
export async function openReads(stage: Stage): Promise<number> {
  return (await metrics(stage, /^sheaf_open_reads (\d+)$/gmu))[0] ?? Number.NaN;
}

export async function receiversCut(stage: Stage): Promise<number> {
  return (await metrics(stage, /^sheaf_receivers_cut_total (\d+)$/gmu))[0] ?? Number.NaN;
}

async function metrics(stage: Stage, pattern: RegExp): Promise<readonly number[]> {
  const page = await (await stage.served.request("/metrics")).text();
  return [...page.matchAll(pattern)].map((match) => Number(match[1]));
}
