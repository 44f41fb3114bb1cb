import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const MODULE = fileURLToPath(new URL("no-network.ts", import.meta.url));

it("leaves no way to a server that is there", async () => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const program = (prepare: string): string =>
    `import http from "node:http"; const { withoutNetwork } = await import(${JSON.stringify(MODULE)}); ${prepare};
     const url = "http://127.0.0.1:${port}/";
     const tried = await Promise.allSettled([Promise.resolve().then(() => fetch(url)), new Promise((resolve, reject) => http.get(url, resolve).on("error", reject))]);
     console.log(JSON.stringify(tried.map(({ status }) => status))); process.exit(0);`;
  const run = async (prepare: string): Promise<string> => {
    const args = ["--import", "tsx", "--input-type=module", "--eval", program(prepare)];
    return (await promisify(execFile)(process.execPath, args)).stdout.trim();
  };
  try {
    expect(await run("")).toBe('["fulfilled","fulfilled"]');
    expect(requests).toBe(2);
    expect(await run("withoutNetwork()")).toBe('["rejected","rejected"]');
    expect(requests).toBe(2);
  } finally {
    server.close();
  }
});
