/**
 * `npm run compat:python`: the Python clients and the vector stores built on them, unchanged, against served Sheafs.
 * Makes a virtual environment of its own under node_modules/.cache, fills it with what requirements.txt pins, starts
 * two servers and runs pytest; arguments go to pytest. Ends with pytest's status, or with 1 and a reason.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { register } from "tsx/esm/api";

register();
const { ROOT_KEY, ServedSheaf } = await import("../../test/e2e/testing/served-sheaf.ts");
const { preparePythonEnvironment } = await import("../python-environment.ts");

const root = fileURLToPath(new URL("../..", import.meta.url));
const tests = join(root, "test/compat/python");
const fixtures = join(root, "packages/inference/fixtures/models");
const environment = join(root, "node_modules/.cache/compat-python");
/** What the clients ask for by name, in models small enough to be kept with the sources. */
const MODELS = {
  "Qwen/Qwen3-Embedding-0.6B": { path: join(fixtures, "tiny-qwen3-last") },
  "prithivida/Splade_PP_en_v1": { path: join(fixtures, "tiny-bert-mlm-splade") },
};

const python = preparePythonEnvironment({
  folder: environment,
  requirements: join(tests, "requirements.txt"),
});
if ("problem" in python) console.error(`compat:python: ${python.problem}`);
process.exitCode = "problem" in python ? 1 : await runTests(python.bin, process.argv.slice(2));

/** The exit status of pytest. */
async function runTests(bin, args) {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-compat-"));
  const models = join(folder, "models.json");
  writeFileSync(models, JSON.stringify(MODELS));
  const servers = [];
  try {
    servers.push(await ServedSheaf.launch({ args: ["--models", models] }));
    servers.push(await ServedSheaf.launch({ env: { HF_HUB_OFFLINE: "1", HF_HOME: folder } }));
    await Promise.all(servers.map((server) => server.waitUntilReady()));
    const [served, bare] = servers;
    return await pytest(bin, args, { SHEAF_URL: served.url, SHEAF_BARE_URL: bare.url, SHEAF_KEY: ROOT_KEY });
  } finally {
    await Promise.all(servers.map((server) => server.dispose()));
    rmSync(folder, { recursive: true, force: true });
  }
}

function pytest(bin, args, variables) {
  const options = [
    "-m",
    "pytest",
    "--quiet",
    "-p",
    "no:cacheprovider",
    ...(args.length > 0 ? args : [tests]),
  ];
  const child = spawn(join(bin, "python"), options, {
    cwd: tests,
    stdio: "inherit",
    env: { ...withoutChroma(process.env), ...variables, PYTHONDONTWRITEBYTECODE: "1" },
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

/** The clients read variables of their own, which would point them elsewhere. */
function withoutChroma(variables) {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !name.startsWith("CHROMA_")));
}
