/** `npm run cluster`, without the install and the build before it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { descendants, waitUntilGone } from "../e2e/testing/served-sheaf.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";

it("starts a database, an object store, nodes and gateways, and leaves no process behind on Ctrl-C", async () => {
  const script = ["--conditions=@sheaf/source", "--import", "tsx", "scripts/cluster/main.ts"];
  // A group of its own, as a terminal gives it.
  const child = spawn(process.execPath, script, {
    cwd: ROOT,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void (child.exitCode ?? process.kill(-child.pid!, "SIGKILL")));
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (part: Buffer) => (output += part.toString()));
  await expect.poll(() => output, { timeout: 120_000 }).toContain("Ctrl-C");
  const urls = [...output.matchAll(/^A gateway: (\S+)/gmu)].map((match) => match[1]!);
  const key = /^The key: +(\S+)/mu.exec(output)?.[1] ?? "";
  expect(new Set(urls).size).toBe(2);
  const nodes = [...output.matchAll(/^A node \((\w+)\): (\S+)/gmu)].map(([, role, url]) => ({
    role,
    url: url!,
  }));
  expect(nodes.map(({ role }) => role)).toEqual(["search", "search", "search", "embed", "index"]);
  const ask = async (url: string, json?: object): Promise<unknown> => {
    const response = await fetch(`${url}${COLLECTIONS}`, {
      headers: { "x-service-token": key, "content-type": "application/json" },
      ...(json !== undefined && { method: "POST", body: JSON.stringify(json) }),
    });
    return response.json();
  };
  await ask(urls[0]!, { name: "notes" });
  for (const url of urls) expect(await ask(url)).toMatchObject([{ name: "notes" }]);
  const processes = await descendants(child.pid!);
  expect(processes.some(({ command }) => command.includes("postgres"))).toBe(true);
  const exited = once(child, "exit");
  process.kill(-child.pid!, "SIGINT");
  expect(await exited).toEqual([0, null]);
  expect(await waitUntilGone(processes)).toEqual([]);
});
