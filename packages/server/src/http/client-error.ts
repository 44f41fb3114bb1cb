/**
 * What a caller hears whose bytes are no HTTP: there is no request then, so no route, no id and no hook. The connection
 * ends with the answer, and the answer says so.
 */
import { STATUS_CODES, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type ErrorName, SheafError } from "@sheaf/protocol";

interface ClientError extends Error {
  readonly code?: string;
}

/** Error of Node's parser -> status and words; any other is a 400. */
const KNOWN: Readonly<Record<string, readonly [status: number, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "the request did not arrive in time"],
  HPE_HEADER_OVERFLOW: [431, "the headers of the request are larger than the server accepts"],
};
const OTHER = [400, "malformed HTTP request"] as const;
const ERROR_NAME: ErrorName = new SheafError("invalid_argument", "").errorName;

/** The answers that are being written, by connection. */
export type OpenAnswers = WeakMap<Socket, ServerResponse>;

/** @param answers In the middle of one of them nothing else can be written. */
export function clientErrorHandler(answers: OpenAnswers): (error: ClientError, socket: Socket) => void {
  return (error, socket) => {
    const begun = answers.get(socket);
    const midAnswer = begun?.headersSent === true && !begun.writableFinished;
    // A handshake that failed leaves nothing to answer through.
    const isTls = error.code?.startsWith("ERR_SSL_") === true || error.code?.startsWith("ERR_TLS_") === true;
    if (isTls || error.code === "ECONNRESET" || !socket.writable || midAnswer) {
      socket.destroy();
      return;
    }
    const [status, message] = KNOWN[error.code ?? ""] ?? OTHER;
    const body = JSON.stringify({ error: ERROR_NAME, message });
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
      "Connection: close",
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
  };
}
