/**
 * `npm run compat:python`: the Python clients and the vector stores built on them, unchanged, against served Sheafs.
 * Makes a virtual environment of its own under node_modules/.cache, fills it with what requirements.txt pins, starts
 * two servers and runs pytest; arguments go to pytest. Ends with pytest's status, or with 1 and a reason.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { register } from "tsx/esm/api";

register();
const { ROOT_KEY, ServedSheaf } = await import("../../test/e2e/testing/served-sheaf.ts");

const root = fileURLToPath(new URL("../..", import.meta.url));
const tests = join(root, "test/compat/python");
const requirements = join(tests, "requirements.txt");
const fixtures = join(root, "packages/inference/fixtures/models");
const environment = join(root, "node_modules/.cache/compat-python");
const bin = join(environment, process.platform === "win32" ? "Scripts" : "bin");
/** What the clients ask for by name, in models small enough to be kept with the sources. */
const MODELS = {
  "Qwen/Qwen3-Embedding-0.6B": { path: join(fixtures, "tiny-qwen3-last") },
  "prithivida/Splade_PP_en_v1": { path: join(fixtures, "tiny-bert-mlm-splade") },
};

process.exitCode = prepareEnvironment() ? await runTests(process.argv.slice(2)) : 1;

/** Whether there is an environment that holds exactly what is pinned. */
function prepareEnvironment() {
  const python = findPython();
  if (python === null) {
    console.error("compat:python needs Python 3.11 or later, as python3 or as the path in PYTHON");
    return false;
  }
  const marker = join(environment, ".requirements");
  const wanted = createHash("sha256").update(python.version).update(readFileSync(requirements)).digest("hex");
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return true;
  console.log(`Installing Python packages into ${environment}…`);
  rmSync(environment, { recursive: true, force: true });
  const pip = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--requirement",
    requirements,
  ];
  const made = succeeds(python.command, ["-m", "venv", environment]) && succeeds(join(bin, "python"), pip);
  if (made) writeFileSync(marker, wanted);
  else console.error("compat:python could not make its environment: it needs venv, pip and a package index");
  return made;
}

function findPython() {
  const program = "import sys; print('%d.%d' % sys.version_info[:2])";
  for (const command of [process.env.PYTHON, "python3", "python"]) {
    if (command === undefined || command === "") continue;
    const { status, stdout } = spawnSync(command, ["-c", program], { encoding: "utf8" });
    const [major = 0, minor = 0] = status === 0 ? stdout.trim().split(".").map(Number) : [];
    if (major === 3 && minor >= 11) return { command, version: stdout.trim() };
  }
  return null;
}

function succeeds(command, args) {
  return spawnSync(command, args, { stdio: "inherit" }).status === 0;
}

/** The exit status of pytest. */
async function runTests(args) {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-compat-"));
  const models = join(folder, "models.json");
  writeFileSync(models, JSON.stringify(MODELS));
  const servers = [];
  try {
    servers.push(await ServedSheaf.launch({ args: ["--models", models] }));
    servers.push(await ServedSheaf.launch({ env: { HF_HUB_OFFLINE: "1", HF_HOME: folder } }));
    await Promise.all(servers.map((server) => server.waitUntilReady()));
    const [served, bare] = servers;
    return await pytest(args, { SHEAF_URL: served.url, SHEAF_BARE_URL: bare.url, SHEAF_KEY: ROOT_KEY });
  } finally {
    await Promise.all(servers.map((server) => server.dispose()));
    rmSync(folder, { recursive: true, force: true });
  }
}

function pytest(args, variables) {
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
