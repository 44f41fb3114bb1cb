/** Makes the tarballs of what is published, and checks each of them as its users find it. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { PUBLISHED, type PublishedPackage, publishedManifest } from "./published-packages.ts";
import { ROOT } from "./published-manifest.ts";

const run = promisify(execFile);

export interface PackOptions {
  /** Where the tarballs go; what it holds is removed. */
  readonly folder: string;
  /** `null`: not known. */
  readonly repository: string | null;
  /** Which packages are made, by name. */
  isWanted(name: string): boolean;
}

export interface PackedPackage {
  readonly name: string;
  readonly version: string;
  /** Path of the tarball. */
  readonly tarball: string;
  readonly bytes: number;
  readonly unpackedBytes: number;
  /** What publint or `attw` find wrong. */
  readonly findings: readonly string[];
}

/** One after the other, so that no more than one package lies unpacked on the disk. */
export async function packPackages(options: PackOptions): Promise<readonly PackedPackage[]> {
  rmSync(options.folder, { recursive: true, force: true });
  mkdirSync(options.folder, { recursive: true });
  const packed: PackedPackage[] = [];
  for (const published of PUBLISHED.filter(({ name }) => options.isWanted(name)))
    packed.push(await packOne(published, options));
  return packed;
}

async function packOne(published: PublishedPackage, options: PackOptions): Promise<PackedPackage> {
  const stage = mkdtempSync(join(tmpdir(), "sheaf-pack-"));
  try {
    published.stage(stage);
    const manifest = publishedManifest(published, options.repository);
    writeFileSync(join(stage, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    const { stdout } = await run(
      "npm",
      ["pack", "--json", "--ignore-scripts", "--pack-destination", options.folder],
      { cwd: stage, maxBuffer: 64 * 1024 * 1024 },
    );
    const [report] = JSON.parse(stdout) as [{ filename: string; unpackedSize: number }];
    const tarball = join(options.folder, report.filename);
    return {
      name: manifest.name,
      version: manifest.version,
      tarball,
      bytes: statSync(tarball).size,
      unpackedBytes: report.unpackedSize,
      findings: [...(await publintFindings(stage, manifest)), ...(await typeFindings(tarball, manifest))],
    };
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

async function publintFindings(folder: string, manifest: object): Promise<readonly string[]> {
  const { messages } = await publint({ pkgDir: folder, pack: false, strict: true });
  return messages.map((message) => `publint: ${formatMessage(message, manifest) ?? message.code}`);
}

/** Of what has types. */
async function typeFindings(tarball: string, manifest: object): Promise<readonly string[]> {
  if (!JSON.stringify(manifest).includes('"types"')) return [];
  const attw = join(ROOT, "node_modules/.bin/attw");
  try {
    await run(attw, [tarball, "--profile", "esm-only", "--format", "ascii", "--no-color", "--no-emoji"]);
    return [];
  } catch (error) {
    return [`attw: ${(error as { readonly stdout: string }).stdout}`];
  }
}
