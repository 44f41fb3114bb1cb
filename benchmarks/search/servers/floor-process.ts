/**
 * What no server on Node can undercut: it reads the request, parses the JSON and writes an answer prepared before, as
 * long as the last part of the path says. With the argument `pair` a second process is asked for as many bytes first, which
 * no server of two processes can undercut. Sends its port to its parent.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { childSocket, spawnProcess } from "../../../packages/process/src/spawn.ts";

/** Of a request to the second process: as long as a vector. */
const FORWARDED_BYTES = 4 * 384;

const answers = new Map<number, Buffer>();

function answerOf(bytes: number): Buffer {
  const known = answers.get(bytes) ?? Buffer.from(JSON.stringify("x".repeat(Math.max(0, bytes - 2))));
  answers.set(bytes, known);
  return known;
}

/** Resolves when the second process has answered. */
type Forward = (bytes: number) => Promise<void>;

function startPair(): Forward {
  const module = new URL("./floor-behind.ts", import.meta.url);
  const socket = childSocket(spawnProcess(module, { args: [String(FORWARDED_BYTES)] }));
  const waiting: { missing: number; readonly resolve: () => void }[] = [];
  socket.on("data", (chunk: Buffer) => {
    for (let left = chunk.length; left > 0;) {
      const [first] = waiting;
      assert(first !== undefined);
      const taken = Math.min(left, first.missing);
      left -= taken;
      first.missing -= taken;
      if (first.missing === 0) waiting.shift()?.resolve();
    }
  });
  return (bytes) =>
    new Promise((resolve) => {
      waiting.push({ missing: bytes, resolve });
      const request = Buffer.alloc(FORWARDED_BYTES);
      request.writeUInt32LE(bytes);
      socket.write(request);
    });
}

const forward = process.argv[2] === "pair" ? startPair() : null;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    JSON.parse(Buffer.concat(chunks).toString());
    const url = request.url ?? "";
    const answer = answerOf(Number(url.slice(url.lastIndexOf("/") + 1)));
    const send = (): void => {
      response.writeHead(200, { "content-type": "application/json", "content-length": answer.byteLength });
      response.end(answer);
    };
    if (forward === null) send();
    else void forward(answer.byteLength).then(send);
  });
});

process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.(typeof address === "object" ? address?.port : null);
});
