import { PassThrough, Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { ByteBudget, Cancellation } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { RequestHold } from "../request/request-hold.ts";
import { BodyTurns } from "./body-turns.ts";
import {
  BodyTooLarge,
  LARGE_BODY_BYTES,
  LargeBody,
  type ReceivedBody,
  UnreadableBody,
  receiveBody,
} from "./receive-body.ts";

const MOST_BYTES = 4 * LARGE_BODY_BYTES;

interface Setup {
  readonly budget?: ByteBudget;
  readonly turns?: BodyTurns;
  readonly headers?: Readonly<Record<string, string>>;
  readonly waitMs?: number;
}

function receive(payload: Readable, setup: Setup = {}) {
  const hold = new RequestHold();
  const budget = setup.budget ?? new ByteBudget({ what: "bodies", perTenant: Infinity, whole: Infinity });
  const reception = {
    hold,
    budget,
    turns: setup.turns ?? new BodyTurns(Infinity),
    headers: setup.headers ?? {},
    owner: "a",
    mostBytes: MOST_BYTES,
    signal: new Cancellation(),
    waitMs: setup.waitMs ?? 10_000,
  };
  const body = new Promise<ReceivedBody>((resolve, reject) => {
    receiveBody(payload, reception, (error, received) =>
      error === null ? resolve(received!) : reject(error),
    );
  });
  return { hold, body };
}

function textOf(body: ReceivedBody): string {
  if (body instanceof UnreadableBody) throw body.reason;
  return body instanceof LargeBody
    ? Buffer.concat(body.pieces.map((piece) => Buffer.from(piece))).toString()
    : body.toString();
}

/** In chunks as a connection gives them. */
function stream(text: string): Readable {
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 65_000) chunks.push(bytes.subarray(at, at + 65_000));
  return Readable.from(chunks, { objectMode: false });
}

const LARGE = "0123456789".repeat(LARGE_BODY_BYTES / 5);

describe("a body", () => {
  it("comes whole, small or large, and holds its bytes until it is released", async () => {
    const budget = new ByteBudget({ what: "bodies", perTenant: Infinity, whole: Infinity });
    const small = receive(stream("{}"), { budget });
    expect(textOf(await small.body)).toBe("{}");
    const large = receive(stream(LARGE), { budget });
    expect(await large.body).toBeInstanceOf(LargeBody);
    expect(textOf(await large.body)).toBe(LARGE);
    expect(budget.held).toBe(2 + LARGE.length);
    small.hold.release();
    large.hold.release();
    expect(budget.held).toBe(0);
    expect(textOf(await receive(stream("")).body)).toBe("");
  });

  it("that is large keeps the memory of long chunks, and short ones in few pieces", async () => {
    const chunks = Array.from({ length: 8 }, (_, i) => Buffer.from(new Uint8Array(64 * 1024).fill(97 + i)));
    const long = await receive(Readable.from(chunks, { objectMode: false })).body;
    expect(long instanceof LargeBody && long.pieces.includes(chunks.at(-1)!.buffer)).toBe(true);
    expect(textOf(long)).toBe(Buffer.concat(chunks).toString());
    const bytes = LARGE.match(/.{1,16}/gu)!.map((part) => Buffer.from(part));
    const short = await receive(Readable.from(bytes, { objectMode: false })).body;
    expect(short instanceof LargeBody && short.pieces.length < 32).toBe(true);
    expect(textOf(short)).toBe(LARGE);
  });

  it("is refused where it is too large before it is inflated, though it inflates to nothing", async () => {
    const empty = gzipSync("");
    const within = Math.floor(MOST_BYTES / empty.length);
    const members = (count: number): Readable =>
      Readable.from(
        Array.from({ length: count }, () => empty),
        { objectMode: false },
      );
    const headers = { "content-encoding": "gzip" };
    expect(textOf(await receive(members(within), { headers }).body)).toBe("");
    await expect(receive(members(within + 1), { headers }).body).rejects.toThrow(BodyTooLarge);
  });

  it("is inflated where it is gzip, and refused in any other coding", async () => {
    const zipped = receive(Readable.from([gzipSync(LARGE)]), { headers: { "content-encoding": "gzip" } });
    expect(textOf(await zipped.body)).toBe(LARGE);
    for (const coding of ["br", "deflate", "gzip, gzip", "gzip, identity", ""]) {
      const refused = receive(stream("{}"), { headers: { "content-encoding": coding } });
      expect(await refused.body).toMatchObject({ reason: { code: "unsupported_media_type" } });
    }
    const broken = receive(Readable.from([gzipSync(LARGE).subarray(0, 100)]), {
      headers: { "content-encoding": "gzip" },
    });
    expect(await broken.body).toMatchObject({ reason: { code: "invalid_argument" } });
  });

  it("is too large by what it says, by what comes, and by what it inflates to", async () => {
    const says = receive(new PassThrough(), { headers: { "content-length": String(MOST_BYTES + 1) } });
    await expect(says.body).rejects.toThrow(BodyTooLarge);
    await expect(receive(stream("x".repeat(MOST_BYTES + 1))).body).rejects.toThrow(BodyTooLarge);
    const bomb = new PassThrough();
    const inflates = receive(bomb, { headers: { "content-encoding": "gzip" } });
    // It has not ended: it is refused as soon as it is over.
    bomb.write(gzipSync(Buffer.alloc(64 * MOST_BYTES)).subarray(0, -1_000));
    await expect(inflates.body).rejects.toThrow(BodyTooLarge);
    expect(textOf(await receive(stream("x".repeat(MOST_BYTES))).body)).toHaveLength(MOST_BYTES);
  });

  it("waits for room before it is refused", async () => {
    const budget = new ByteBudget({ what: "bodies", perTenant: 10, whole: Infinity });
    const others = budget.charge("a", 8);
    const refused = receive(stream("{    }"), { budget, waitMs: 30 });
    await expect(refused.body).rejects.toMatchObject({ code: "rate_limited", retryAfterSeconds: 1 });
    refused.hold.release();
    const waits = receive(stream("{    }"), { budget });
    setTimeout(() => others.release(), 60);
    expect(textOf(await waits.body)).toBe("{    }");
  });

  it("that is large waits for those of its tenant before it", async () => {
    const turns = new BodyTurns(1.5 * LARGE.length);
    const headers = { "content-length": String(LARGE.length) };
    const first = receive(stream(LARGE), { turns, headers });
    await first.body;
    const refused = receive(stream(LARGE), { turns, headers, waitMs: 30 });
    await expect(refused.body).rejects.toMatchObject({ code: "rate_limited" });
    const next = receive(stream(LARGE), { turns, headers });
    setTimeout(() => first.hold.release(), 60);
    expect(textOf(await next.body)).toBe(LARGE);
  });

  it("ends with its connection", async () => {
    const payload = new PassThrough();
    const { body } = receive(payload);
    payload.write("{");
    payload.destroy(new Error("gone"));
    await expect(body).rejects.toThrow("gone");
  });
});

describe("a body in chunks of a byte", () => {
  it.each([0, 1_023, 5_000, LARGE_BODY_BYTES + 3_000])("is whole, of %d bytes", async (length) => {
    const text = Array.from({ length }, (_, i) => String.fromCodePoint(97 + (i % 26))).join("");
    const bytes = Buffer.from(text);
    const chunks = Array.from({ length }, (_, i) => bytes.subarray(i, i + 1));
    const { body } = receive(Readable.from(chunks, { objectMode: false }));
    expect(textOf(await body)).toBe(text);
  });
});
