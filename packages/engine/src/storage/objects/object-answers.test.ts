import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { ObjectStore } from "./object-store.ts";

const CHUNK = Buffer.alloc(1024 * 1024);
/** What is read of an answer, and what sockets hold of it. */
const MOST = 160;

it.each([
  ["does not say its length, and does not end", {}],
  ["says that it is too long", { "content-length": String(2 ** 40) }],
])("does not read an answer into memory that %s", async (_, headers) => {
  let sent = 0;
  const server = createServer((_asked, reply) => {
    reply.writeHead(200, headers);
    const send = (): void => {
      // It would fill the memory of the test, too.
      if (sent > 2 * MOST) reply.destroy();
      while (!reply.destroyed && reply.write(CHUNK)) sent++;
      sent++;
    };
    reply.on("drain", send);
    send();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const store = new ObjectStore({
    ...{
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      bucket: "bucket",
      prefix: "",
    },
    ...{ region: "us-east-1", accessKeyId: "key", secretAccessKey: "secret" },
    limits: { attempts: 1 },
  });
  await expect(store.get("object", "0-9")).rejects.toThrow();
  expect(sent).toBeLessThan(MOST);
});
