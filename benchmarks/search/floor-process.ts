/**
 * What no server on Node can undercut: it reads the request, parses the JSON and writes an answer prepared before, as
 * long as the last part of the path says. Sends its port to its parent.
 */
import { createServer } from "node:http";

const answers = new Map<number, Buffer>();

function answerOf(bytes: number): Buffer {
  const known = answers.get(bytes) ?? Buffer.from(JSON.stringify("x".repeat(Math.max(0, bytes - 2))));
  answers.set(bytes, known);
  return known;
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    JSON.parse(Buffer.concat(chunks).toString());
    const url = request.url ?? "";
    const answer = answerOf(Number(url.slice(url.lastIndexOf("/") + 1)));
    response.writeHead(200, { "content-type": "application/json", "content-length": answer.byteLength });
    response.end(answer);
  });
});

process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.(typeof address === "object" ? address?.port : null);
});
