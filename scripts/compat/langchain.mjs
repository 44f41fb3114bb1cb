/**
 * `npm run compat:langchain`: LangChain's JavaScript vector store, unchanged, against a served Sheaf. Installs what
 * test/compat/langchain pins, into that folder, because its peers are not those of the workspace; arguments go to
 * Node's test runner. Ends with the runner's status.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { register } from "tsx/esm/api";

register();
const { ROOT_KEY, ServedSheaf } = await import("../../test/e2e/testing/served-sheaf.ts");

const folder = fileURLToPath(new URL("../../test/compat/langchain", import.meta.url));

process.exitCode = installPackages() ? await runTests(process.argv.slice(2)) : 1;

/** Whether node_modules holds exactly what the lockfile pins. */
function installPackages() {
  const marker = join(folder, "node_modules/.pinned");
  const wanted = createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .digest("hex");
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return true;
  console.log(`Installing LangChain into ${folder}…`);
  const { status } = spawnSync("npm", ["ci"], {
    cwd: folder,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) {
    console.error("compat:langchain could not install its packages: it needs npm and a package registry");
    return false;
  }
  writeFileSync(marker, wanted);
  return true;
}

/** The exit status of the tests. */
async function runTests(args) {
  const served = await ServedSheaf.start();
  try {
    const { status } = spawnSync(
      process.execPath,
      ["--test", "--test-reporter=spec", ...args, "chroma-store.mjs"],
      {
        cwd: folder,
        stdio: "inherit",
        env: { ...withoutChroma(process.env), SHEAF_URL: served.url, SHEAF_KEY: ROOT_KEY },
      },
    );
    return status ?? 1;
  } finally {
    await served.dispose();
  }
}

/** The client reads variables of its own, which would point it elsewhere. */
function withoutChroma(variables) {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !name.startsWith("CHROMA_")));
}
