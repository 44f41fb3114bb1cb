/**
 * ONNX Runtime, one package for each platform that upstream has files for. They hold upstream's files as they are, compared
 * with the checksums in the repository, and no install script (decision 35). After an update, in node_modules/onnxruntime-node:
 * `find dist/*.js bin -type f ! -name libonnxruntime.1.30.0.dylib | sort | xargs sha256sum`, with the new version.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { copyFiles } from "./copy-build.ts";
import { ROOT, readManifest } from "./published-manifest.ts";

export interface RuntimePackage {
  readonly name: string;
  readonly os: string;
  readonly cpu: string;
}

const FOLDER = "scripts/pack/onnxruntime";
const UPSTREAM = dirname(createRequire(import.meta.url).resolve("onnxruntime-node/package.json"));
const CHECKSUMS: readonly (readonly [sha256: string, path: string])[] = readFileSync(
  join(ROOT, FOLDER, "SHA256SUMS"),
  "utf8",
)
  .trim()
  .split("\n")
  .map((line) => [line.slice(0, 64), line.slice(66)]);

/** From the checksums: `bin/napi-v6/<platform>/<architecture>/<file>`. */
export const RUNTIME_PACKAGES: readonly RuntimePackage[] = [
  ...new Set(CHECKSUMS.flatMap(([, path]) => /^bin\/[^/]+\/([^/]+\/[^/]+)\//u.exec(path)?.[1] ?? [])),
].map((place) => {
  const [os = "", cpu = ""] = place.split("/");
  return { name: `@sheaf/onnxruntime-${os}-${cpu}`, os, cpu };
});

/** What a package is called and needs; `version` is upstream's. */
export function runtimeManifest({ name, os, cpu }: RuntimePackage): Readonly<Record<string, unknown>> {
  const { version, license } = readManifest(join("node_modules", "onnxruntime-node"));
  return {
    name,
    version,
    description: `ONNX Runtime ${version} for Node.js on ${os} ${cpu}, as published by Microsoft in onnxruntime-node, without its install script`,
    license,
    type: "commonjs",
    main: "dist/index.js",
    os: [os],
    cpu: [cpu],
    // Microsoft's library is linked against glibc.
    ...(os === "linux" && { libc: ["glibc"] }),
    dependencies: { "onnxruntime-common": version },
    engines: readManifest("packages/inference")["engines"],
    preferUnplugged: true,
  };
}

/** Throws where a file of upstream is not the one whose checksum the repository has. */
export function stageRuntime({ name, os, cpu }: RuntimePackage, folder: string): void {
  const own = CHECKSUMS.filter(
    ([, path]) => path.startsWith("dist/") || path.split("/").slice(2, 4).join("/") === `${os}/${cpu}`,
  );
  for (const [sha256, path] of own) {
    const found = createHash("sha256")
      .update(readFileSync(join(UPSTREAM, path)))
      .digest("hex");
    if (found !== sha256)
      throw new Error(
        `onnxruntime-node: ${path} has SHA-256 ${found}, and ${FOLDER}/SHA256SUMS has ${sha256}`,
      );
  }
  copyFiles(
    UPSTREAM,
    folder,
    own.map(([, path]) => path),
  );
  copyFiles(join(ROOT, FOLDER), folder, ["LICENSE", "ThirdPartyNotices.txt"]);
  const sums = own.map(([sha256, path]) => `${sha256}  ${path}\n`).join("");
  writeFileSync(join(folder, "SHA256SUMS"), sums);
  writeFileSync(join(folder, "README.md"), readmeOf(name, os, cpu));
}

function readmeOf(name: string, os: string, cpu: string): string {
  return `# ${name}

The files of Microsoft's [onnxruntime-node](https://www.npmjs.com/package/onnxruntime-node) for ${os} ${cpu}, byte for byte; \`sha256sum -c SHA256SUMS\`
compares them. \`@sheaf/server\` depends on it in place of \`onnxruntime-node\`, which holds the files of all platforms and runs
an install script that downloads CUDA libraries. Models of Sheaf run on the processor and need none.

MIT, Copyright (c) Microsoft Corporation: see LICENSE and ThirdPartyNotices.txt. Not a product of Microsoft.
`;
}
