/** `npm run cluster`, without the install and the build before it. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { descendants, waitUntilGone } from "../e2e/testing/served-sheaf.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";

/** What is printed for the reader to type. */
function inAnotherTerminal(output: string): { list(): Promise<readonly string[]>; add(): ChildProcess } {
  const typed = (start: string): string => {
    const line = output.split("\n").find((text) => text.trim().startsWith(start));
    return line!.trim().replace("npx sheaf", `${process.execPath} packages/server/bin/sheaf.mjs`);
  };
  const list = typed(". ");
  const lines = async (): Promise<readonly string[]> =>
    (await promisify(execFile)("sh", ["-c", list], { cwd: ROOT })).stdout.trim().split("\n");
  const add = (): ChildProcess => {
    const script = `${list} > /dev/null && exec ${typed("npx sheaf serve")}`;
    const child = spawn("sh", ["-c", script], { cwd: ROOT, stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  };
  return { list: lines, add };
}

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
  const told = inAnotherTerminal(output);
  expect(await told.list()).toHaveLength(6);
  const added = told.add();
  await expect.poll(() => told.list(), { timeout: 30_000 }).toHaveLength(7);
  const processes = await descendants(child.pid!);
  expect(processes.some(({ command }) => command.includes("postgres"))).toBe(true);
  const exited = once(child, "exit");
  process.kill(-child.pid!, "SIGINT");
  expect(await exited).toEqual([0, null]);
  expect(await waitUntilGone(processes)).toEqual([]);
  // Its data folder was one of the cluster.
  if (added.exitCode === null) await once(added, "exit");
  expect(added.exitCode).toBe(1);
});
