/**
 * `npm run compat:python`: the Python clients and the vector stores built on them, unchanged, against served Sheafs; then
 * random operations sent to a Sheaf and to the server of PyPI's `chromadb`, whose answers are compared; then all that such a
 * server holds is moved to a Sheaf. Makes a virtual
 * environment of its own under node_modules/.cache, fills it with what requirements.txt pins, starts three servers
 * and runs pytest. `--compare` and `--move` leave the rest out, `--seed` repeats a comparison, `--steps` makes it longer; `--also PATH`, once or
 * more, runs the tests of the package in clients/python with another Python, 3.10 or later, too; other arguments
 * go to pytest, and then nothing is compared. Ends with 0, with pytest's status, or with 1 and a reason.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { register } from "tsx/esm/api";

register();
const { ROOT_KEY, ServedSheaf } = await import("../../test/e2e/testing/served-sheaf.ts");
const { compareWithChroma } = await import("../../test/compat/differential/compare-with-chroma.ts");
const { moveFromChroma } = await import("../../test/compat/moving/move-from-chroma.ts");
const { preparePythonEnvironment } = await import("../python-environment.ts");
const { hybridSchema } = await import("../../packages/client/src/index.ts");
const { installSheafClient } = await import("./sheaf-client.ts");

const root = fileURLToPath(new URL("../..", import.meta.url));
const tests = join(root, "test/compat/python");
const fixtures = join(root, "packages/inference/fixtures/models");
const environment = join(root, "node_modules/.cache/compat-python");
/** What the clients ask for by name, in models small enough to be kept with the sources. */
const MODELS = {
  "Qwen/Qwen3-Embedding-0.6B": { path: join(fixtures, "tiny-qwen3-last") },
  "prithivida/Splade_PP_en_v1": { path: join(fixtures, "tiny-bert-mlm-splade") },
};

/** Those that need no more than the package does. */
const PACKAGE_TESTS = ["test_sheaf_client.py", "test_agreement.py"];

const { values, positionals } = parseArgs({
  options: {
    also: { type: "string", multiple: true },
    compare: { type: "boolean" },
    move: { type: "boolean" },
    seed: { type: "string" },
    steps: { type: "string" },
  },
  allowPositionals: true,
});
/** That of the lane, then those of `--also`. */
const environments = [
  preparePythonEnvironment({ folder: environment, requirements: join(tests, "requirements.txt") }),
  ...(values.also ?? []).map((command, i) =>
    preparePythonEnvironment({
      folder: `${environment}-${i}`,
      requirements: join(tests, "requirements-package.txt"),
      command,
    }),
  ),
];
process.exitCode = await runWith(environments);

async function runWith(prepared) {
  const missing = prepared.find((each) => "problem" in each);
  if (missing !== undefined) console.error(`compat:python: ${missing.problem}`);
  const [bin, ...others] = prepared.map((each) => each.bin);
  return missing === undefined && installSheafClient(bin, others) ? runLane(bin, others) : 1;
}

async function runLane(bin, others) {
  if (values.move) return (await moveFromChroma(bin)) ? 0 : 1;
  const folder = mkdtempSync(join(tmpdir(), "sheaf-compat-"));
  const models = join(folder, "models.json");
  writeFileSync(models, JSON.stringify(MODELS));
  const servers = [];
  try {
    servers.push(await ServedSheaf.launch({ args: ["--models", models] }));
    servers.push(await ServedSheaf.launch({ env: { HF_HUB_OFFLINE: "1", HF_HOME: folder } }));
    servers.push(await ServedSheaf.launch({ args: ["--auth", "off"] }));
    await Promise.all(servers.map((server) => server.waitUntilReady()));
    const [served, bare, open] = servers;
    const variables = {
      SHEAF_URL: served.url,
      SHEAF_BARE_URL: bare.url,
      SHEAF_OPEN_URL: open.url,
      SHEAF_KEY: ROOT_KEY,
      SHEAF_HYBRID_SCHEMAS: JSON.stringify(hybridSchemas()),
    };
    for (const other of others) {
      const status = await pytest(other, PACKAGE_TESTS, variables);
      if (status !== 0) return status;
    }
    const status = values.compare ? 0 : await pytest(bin, positionals, variables);
    if (status !== 0 || positionals.length > 0) return status;
    const same = await compareWithChroma({
      bin,
      sheaf: { url: bare.url, headers: { "x-service-token": ROOT_KEY } },
      seed: Number(values.seed ?? randomInt(2 ** 31)),
      steps: Number(values.steps ?? 2_000),
    });
    if (!same || values.compare) return same ? 0 : 1;
    return (await moveFromChroma(bin)) ? 0 : 1;
  } finally {
    await Promise.all(servers.map((server) => server.dispose()));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Arguments of `hybrid_schema_json` with what `hybridSchema` makes of the same. */
function hybridSchemas() {
  const model = "BAAI/bge-m3";
  return [
    [{}, hybridSchema()],
    [
      { model, space: "l2", sparse_key: "words", truncate: true },
      hybridSchema({ model, space: "l2", sparseKey: "words", truncate: true }),
    ],
    [{ chunking: { by: "tokens", size: 64 } }, hybridSchema({ chunking: { by: "tokens", size: 64 } })],
  ];
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
