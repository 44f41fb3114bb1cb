/** Reads one HTTP/1.1 answer from pieces of a connection. Interim answers (1xx) are passed over. */

export interface WireAnswer {
  readonly status: number;
  /** Lower-case name -> value; of a repeated one the last. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The server ends the connection after it. */
  readonly closes: boolean;
}

interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Where the body begins. */
  readonly end: number;
}

const BLANK_LINE = "\r\n\r\n";

export class ResponseReader {
  readonly #method: string;
  #bytes: Buffer = Buffer.alloc(0);
  #head: Head | null = null;

  constructor(method: string) {
    this.#method = method;
  }

  /** The answer once it is whole. Throws for what is no HTTP. */
  push(chunk: Buffer): WireAnswer | null {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    while (this.#head === null) {
      const head = readHead(this.#bytes);
      if (head === null) return null;
      if (head.status >= 200) this.#head = head;
      else this.#bytes = this.#bytes.subarray(head.end);
    }
    const { status, headers, end } = this.#head;
    const rest = this.#bytes.subarray(end);
    if (this.#method === "HEAD" || status === 204 || status === 304) return this.#answer(Buffer.alloc(0));
    if (headers["transfer-encoding"] === "chunked") {
      const body = readChunks(rest);
      return body === null ? null : this.#answer(body);
    }
    const length = Number(headers["content-length"] ?? Number.NaN);
    if (Number.isNaN(length) || rest.length < length) return null;
    return this.#answer(rest.subarray(0, length));
  }

  /** The connection has ended: an answer without a length is whole now, any other is none. */
  end(): WireAnswer | null {
    if (this.#head === null) return null;
    const { headers, end } = this.#head;
    const measured = "content-length" in headers || "transfer-encoding" in headers;
    return measured ? null : this.#answer(this.#bytes.subarray(end));
  }

  #answer(body: Buffer): WireAnswer {
    const { status = 0, headers = {} } = this.#head ?? {};
    return { status, headers, body, closes: headers["connection"]?.toLowerCase() === "close" };
  }
}

function readHead(bytes: Buffer): Head | null {
  const end = bytes.indexOf(BLANK_LINE);
  if (end < 0) return null;
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/u.exec(statusLine)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) throw new Error(`no status line: ${statusLine}`);
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status, headers: Object.fromEntries(headers), end: end + BLANK_LINE.length };
}

/** `null`: not all of them are there yet. */
function readChunks(bytes: Buffer): Buffer | null {
  const chunks: Buffer[] = [];
  for (let position = 0; ;) {
    const lineEnd = bytes.indexOf("\r\n", position);
    if (lineEnd < 0) return null;
    const length = Number.parseInt(bytes.toString("latin1", position, lineEnd), 16);
    if (Number.isNaN(length)) throw new Error("no length of a chunk");
    const end = lineEnd + 2 + length;
    if (bytes.length < end + 2) return null;
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(lineEnd + 2, end));
    position = end + 2;
  }
}
