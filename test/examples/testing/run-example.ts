/** Runs an example as its README says, against a served Sheaf. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ROOT_KEY, type ServedSheaf } from "../../e2e/testing/served-sheaf.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
/** Examples import built packages; here they take the sources, as every test does. */
const SOURCES = ["--conditions=@sheaf/source", "--import", "tsx"];

export interface ExampleOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Lines that it prints. Throws, with what it said, if it fails. */
export async function runExample(
  served: ServedSheaf,
  name: string,
  { args = [], env = {} }: ExampleOptions = {},
): Promise<string[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...SOURCES, `examples/${name}/main.mjs`, ...args],
    { cwd: ROOT, env: { ...process.env, SHEAF_URL: served.url, SHEAF_KEY: ROOT_KEY, ...env } },
  );
  return stdout.trim().split("\n");
}
