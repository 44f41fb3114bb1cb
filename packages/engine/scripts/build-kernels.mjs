/**
 * Compiles `assembly/` and writes `src/kernels/kernels.generated.ts`. The result is committed: the compiler is
 * deterministic, a test compares it with a fresh build, and a clone works without a build step.
 * After every change of `assembly/`: `node packages/engine/scripts/build-kernels.mjs`. With `--check` it only compares.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { main } from "assemblyscript/asc";

/** All that 32 bits address. */
const MAX_PAGES = "65536";

const source = fileURLToPath(new URL("../assembly/", import.meta.url));
const target = new URL("../src/kernels/kernels.generated.ts", import.meta.url);

const text = await compileKernels();
if (!process.argv.includes("--check")) await writeFile(target, text);
else if ((await readFile(target, "utf8")) !== text)
  throw new Error("kernels.generated.ts is not of assembly/");

/** The text of `kernels.generated.ts`. */
async function compileKernels() {
  const own = await compile([]);
  const shared = await compile(["--enable", "threads", "--sharedMemory", "--maximumMemory", MAX_PAGES]);
  return `/** Made by scripts/build-kernels.mjs from assembly/; do not edit. ${own.length} bytes of WASM. */
export const KERNELS_BASE64 =
  "${own.toString("base64")}";

/** The same for memory that threads share. */
export const SHARED_KERNELS_BASE64 =
  "${shared.toString("base64")}";
`;
}

/** Throws with the compiler's messages if `assembly/` does not compile. */
async function compile(flags) {
  let binary = new Uint8Array();
  const messages = [];
  const { error } = await main(
    ["index.ts", "--baseDir", source, "--outFile", "kernels.wasm"].concat(
      ["-O3", "--converge", "--noAssert", "--runtime", "stub"],
      ["--enable", "simd", "--importMemory"],
      flags,
    ),
    {
      readFile: (name, base) => readFile(`${base}/${name}`, "utf8").catch(() => null),
      writeFile: (name, contents) => {
        if (name.endsWith(".wasm")) binary = contents;
      },
      listFiles: () => [],
      stderr: { write: (message) => messages.push(String(message)) },
    },
  );
  if (error !== null) throw new Error(`assembly/ does not compile:\n${messages.join("")}`, { cause: error });
  return Buffer.from(binary);
}
