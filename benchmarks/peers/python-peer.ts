/** Runs a peer that is a Python program: one job in, its figures out, both as JSON. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { peerEnvironment } from "./peer-environment.ts";

const run = promisify(execFile);
const MOST_OUTPUT = 64 * 1024 * 1024;

export type PeerResult<T> = { readonly figures: T } | { readonly problem: string };

/** @param folder Takes the job, for whoever wants to run it alone. */
export async function runPythonPeer<T>(program: string, folder: string, job: object): Promise<PeerResult<T>> {
  const environment = peerEnvironment();
  if ("problem" in environment) return environment;
  const path = join(folder, `${program}.job.json`);
  writeFileSync(path, JSON.stringify(job));
  const script = fileURLToPath(new URL(`${program}.py`, import.meta.url));
  const { stdout } = await run(join(environment.bin, "python"), [script, path], { maxBuffer: MOST_OUTPUT });
  return { figures: JSON.parse(stdout) as T };
}
