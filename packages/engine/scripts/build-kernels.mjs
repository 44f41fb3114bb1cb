/**
 * Compiles `assembly/` and writes `src/kernels/kernels.generated.ts`, and the layouts of the argument blocks, from the
 * `@unmanaged` classes, to `src/kernels/argument-layouts.generated.ts`. The results are committed: the compiler is
 * deterministic, a test compares it with a fresh build, and a clone works without a build step.
 * After every change of `assembly/`: `node packages/engine/scripts/build-kernels.mjs`. With `--check` it only compares.
 */
import { readFile, readdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { main } from "assemblyscript/asc";

/** All that 32 bits address. */
const MAX_PAGES = "65536";

const source = fileURLToPath(new URL("../assembly/", import.meta.url));
const targets = new URL("../src/kernels/", import.meta.url);
const KINDS = { usize: "u32", u32: "u32", f32: "f32" };

for (const [name, text] of [
  ["kernels.generated.ts", await compileKernels()],
  ["argument-layouts.generated.ts", await readLayouts()],
]) {
  const target = new URL(name, targets);
  if (!process.argv.includes("--check")) await writeFile(target, text);
  else if ((await readFile(target, "utf8")) !== text) throw new Error(`${name} is not of assembly/`);
}

/** The text of `argument-layouts.generated.ts`. `RowsArguments` becomes `ROWS`. */
async function readLayouts() {
  const texts = [];
  for (const file of (await readdir(source)).toSorted()) {
    const code = await readFile(`${source}${file}`, "utf8");
    for (const [, name, body] of code.matchAll(/@unmanaged\n(?:export )?class (\w+) \{\n(.*?)\n\}/gsu)) {
      const fields = body
        .replaceAll(/\/\*\*.*?\*\//gsu, "")
        .split("\n")
        .filter((line) => line.trim() !== "");
      texts.push(layoutText(`${file}: ${name}`, name.replace(/Arguments$/u, "").toUpperCase(), fields));
    }
  }
  return `/** Made by scripts/build-kernels.mjs from the classes of assembly/; do not edit. */\n${texts.join("")}`;
}

function layoutText(where, name, fields) {
  const lines = fields.map((field) => {
    const [, key, kind] = /^ {2}(\w+): (usize|u32|f32);$/u.exec(field) ?? [];
    if (key === undefined) throw new Error(`${where}: no field of 32 bits: ${field}`);
    return `  ${key}: "${KINDS[kind]}",\n`;
  });
  return `\nexport const ${name} = {\n${lines.join("")}} as const;\n`;
}

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
