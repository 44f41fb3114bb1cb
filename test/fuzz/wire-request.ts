/**
 * One request down to its bytes, so that it may be malformed in ways that no HTTP client lets through, and its form as
 * a fixture. Paths, header values and bodies may hold `{{name}}`, which stands for an id that only the server knows.
 */

/** How the body is announced; `claims-more` and those after it lie. */
export type Framing =
  | "length"
  | "chunked"
  | "claims-more"
  | "claims-less"
  | "both"
  | "bad-length"
  | "bad-chunk";

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** `null`: none, and nothing that speaks of one. */
  readonly body: Uint8Array | null;
  readonly framing: Framing;
}

/** A `WireRequest` as JSON. The body is text where that is the same bytes. */
export interface RequestFixture {
  /** What it did once. */
  readonly why: string;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly framing: Framing;
  readonly text?: string;
  readonly base64?: string;
}

/** Name of a placeholder -> what stands there when it is sent. */
export type Placeholders = Readonly<Record<string, string>>;

const PLACEHOLDER = /\{\{(\w+)\}\}/gu;

/** Whether a server may close the connection without a word: what it was sent is no HTTP. */
export function isFramed({ framing, headers }: WireRequest): boolean {
  const lies = headers.some(([name]) => name.toLowerCase() === "transfer-encoding");
  return !lies && (framing === "length" || framing === "chunked");
}

export function toFixture(request: WireRequest, why: string): RequestFixture {
  const { method, path, headers, body, framing } = request;
  const fixture = { why, method, path, headers, framing };
  if (body === null) return fixture;
  const text = Buffer.from(body).toString("utf8");
  return Buffer.from(text).equals(body)
    ? { ...fixture, text }
    : { ...fixture, base64: Buffer.from(body).toString("base64") };
}

export function fromFixture({ method, path, headers, framing, text, base64 }: RequestFixture): WireRequest {
  const body =
    text === undefined
      ? base64 === undefined
        ? null
        : Buffer.from(base64, "base64")
      : Buffer.from(text, "utf8");
  return { method, path, headers, framing, body };
}

/** The bytes to write; after them the connection is at its end where the request is not framed. */
export function requestBytes(request: WireRequest, placeholders: Placeholders): Buffer {
  const fill = (text: string): string =>
    text.replaceAll(PLACEHOLDER, (whole, name: string) => placeholders[name] ?? whole);
  // One byte a character: what is not ASCII has to arrive as it is.
  const body = request.body === null ? null : Buffer.from(fill(latin1(request.body)), "latin1");
  const headers = [...request.headers, ...framingHeaders(request.framing, body)];
  const head = [
    `${request.method} ${fill(request.path)} HTTP/1.1`,
    "Host: 127.0.0.1",
    ...headers.map(([name, value]) => `${name}: ${fill(value)}`),
    "",
    "",
  ].join("\r\n");
  return Buffer.concat([Buffer.from(head, "utf8"), ...framedBody(request.framing, body)]);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

function framingHeaders(framing: Framing, body: Buffer | null): readonly (readonly [string, string])[] {
  if (body === null) return [];
  const chunked = ["Transfer-Encoding", "chunked"] as const;
  const length = (bytes: number): readonly [string, string] => ["Content-Length", String(bytes)];
  switch (framing) {
    case "length":
      return [length(body.length)];
    case "claims-more":
      return [length(body.length + 10)];
    case "claims-less":
      return [length(Math.floor(body.length / 2))];
    case "bad-length":
      return [["Content-Length", "-5"]];
    case "both":
      return [length(body.length), chunked];
    case "chunked":
    case "bad-chunk":
      return [chunked];
    default:
      return framing satisfies never;
  }
}

function framedBody(framing: Framing, body: Buffer | null): readonly Buffer[] {
  if (body === null) return [];
  if (framing !== "chunked" && framing !== "bad-chunk") return [body];
  const middle = Math.floor(body.length / 2);
  const parts = [body.subarray(0, middle), body.subarray(middle)].filter((part) => part.length > 0);
  const chunks = parts.flatMap((part) => [
    Buffer.from(`${part.length.toString(16)}\r\n`),
    part,
    Buffer.from("\r\n"),
  ]);
  return [...chunks, Buffer.from(framing === "chunked" ? "0\r\n\r\n" : "zz\r\n\r\n")];
}
