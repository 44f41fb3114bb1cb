/**
 * Moves 120 collections of a real Chroma to Sheaf with `sheaf import chroma`, which is killed in the middle and started
 * again; then the folder of that Chroma, to another Sheaf. Everything is read from both sides and compared.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ROOT_KEY, ServedSheaf } from "../../e2e/testing/served-sheaf.ts";
import { ChromaServer } from "../differential/chroma-server.ts";
import {
  type Contents,
  TENANTS,
  differences,
  fillChroma,
  readContents,
  requireWhole,
} from "./chroma-contents.ts";

const COMMAND = fileURLToPath(new URL("../../../packages/server/bin/sheaf.mjs", import.meta.url));
const DEADLINE_MS = 300_000;
const KILLED_AFTER = 3_000;

/** @param bin Of the environment that holds Chroma. @returns whether nothing was lost. */
export async function moveFromChroma(bin: string): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-moving-"));
  const chroma = await ChromaServer.start(bin);
  try {
    await fillChroma(chroma);
    const before = await readContents(chroma, TENANTS);
    requireWhole(before);
    const byUrl = await moveTo(before, folder, {
      source: ["--url", chroma.url, "--tenant", TENANTS.join(",")],
      isKilled: true,
    });
    await chroma.stop();
    const byPath = await moveTo(before, folder, {
      source: ["--path", chroma.data, "--chroma", join(bin, "chroma"), "--tenant", TENANTS.join(",")],
      isKilled: false,
    });
    return byUrl && byPath;
  } finally {
    await chroma.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function moveTo(
  before: Contents,
  folder: string,
  { source, isKilled }: { readonly source: readonly string[]; readonly isKilled: boolean },
): Promise<boolean> {
  const sheaf = await ServedSheaf.start();
  try {
    const state = join(folder, `${isKilled ? "url" : "path"}.json`);
    const args = ["import", "chroma", ...source, "--to", sheaf.url, "--state", state];
    if (isKilled) await killInTheMiddle(args, state);
    const started = performance.now();
    const { code, output } = await run(args);
    const seconds = ((performance.now() - started) / 1_000).toFixed(0);
    const server = { url: sheaf.url, headers: { "x-service-token": ROOT_KEY } };
    const after = await readContents(server, TENANTS);
    const different = differences(before, after);
    const last = output.trim().split("\n").at(-1) ?? "";
    console.log(`${source[0]}: exit code ${code} after ${seconds} s; ${different.length} differ; ${last}`);
    for (const name of different.slice(0, 3)) console.log(`${name} is not the same`);
    return code === 0 && different.length === 0;
  } finally {
    await sheaf.dispose();
  }
}

async function killInTheMiddle(args: readonly string[], state: string): Promise<void> {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    env: environment(),
    stdio: ["ignore", "ignore", "inherit"],
  });
  const exited = once(child, "exit");
  const deadline = performance.now() + DEADLINE_MS;
  while (recordsIn(state) < KILLED_AFTER) {
    if (child.exitCode !== null) throw new Error("the import ended before it could be killed");
    if (performance.now() > deadline) throw new Error("the import wrote nothing");
    await sleep(5);
  }
  child.kill("SIGKILL");
  await exited;
  const records = recordsIn(state);
  console.log(`killed after ${records} records`);
  if (!existsSync(state)) throw new Error("nothing is left to go on from");
}

function recordsIn(state: string): number {
  if (!existsSync(state)) return 0;
  const { collections } = JSON.parse(readFileSync(state, "utf8")) as {
    readonly collections: Readonly<Record<string, { readonly done: number }>>;
  };
  return Object.values(collections).reduce((sum, { done }) => sum + done, 0);
}

async function run(args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  const child = spawn(process.execPath, [COMMAND, ...args], { env: environment() });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? -1, output };
}

const environment = (): NodeJS.ProcessEnv => ({ ...process.env, SHEAF_KEY: ROOT_KEY });
