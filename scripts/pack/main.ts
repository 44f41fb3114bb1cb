/** `npm run pack`: the packages of a release as tarballs in dist/packages, checked. Publishes nothing. */
import { join } from "node:path";
import { Command } from "commander";
import { findRepository } from "./find-repository.ts";
import { type PackedPackage, packPackages } from "./pack-packages.ts";
import { ROOT } from "./published-manifest.ts";

const MEGABYTE = 1e6;

interface Options {
  readonly out: string;
  readonly repository?: string;
  readonly only?: string;
}

const { out, repository, only } = new Command("npm run pack --")
  .description("Makes the packages of a release as tarballs.")
  .option("--out <folder>", "where they go; what it holds is removed", join(ROOT, "dist/packages"))
  .option("--repository <url>", "where the sources are published; without it, the remote `origin`")
  .option("--only <names>", "names of packages, separated by commas")
  .parse()
  .opts<Options>();

const names = only?.split(",");
const packed = await packPackages({
  folder: out,
  repository: findRepository(repository),
  isWanted: (name) => names?.includes(name) ?? true,
});
for (const one of packed) print(one);
if (packed.some(({ findings }) => findings.length > 0)) process.exitCode = 1;

function print({ name, version, tarball, bytes, unpackedBytes, findings }: PackedPackage): void {
  const [packedMb, unpackedMb] = [bytes, unpackedBytes].map((size) => (size / MEGABYTE).toFixed(1));
  console.log(`${name} ${version}: ${packedMb} MB, unpacked ${unpackedMb} MB, ${tarball}`);
  for (const finding of findings) console.log(`  ${finding}`);
}
