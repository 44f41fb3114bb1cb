/** A registry of npm that has the tarballs of one folder and nothing else, as the public one would after their publication. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { gunzipSync } from "node:zlib";
import type { PackedPackage } from "../../../scripts/pack/pack-packages.ts";

const TAR_BLOCK = 512;
const SIZE_AT = 124;
const SIZE_DIGITS = 11;

export interface LocalRegistry {
  readonly url: string;
  close(): void;
}

export async function startLocalRegistry(packed: readonly PackedPackage[]): Promise<LocalRegistry> {
  const server: Server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "");
    const { port } = server.address() as AddressInfo;
    const owner = packed.find(({ name }) => path === `/${name}`);
    const file = packed.find(({ tarball }) => path === `/files/${basename(tarball)}`);
    if (file !== undefined) response.end(readFileSync(file.tarball));
    else if (owner === undefined) response.writeHead(404).end("{}");
    else response.end(JSON.stringify(packument(owner, `http://127.0.0.1:${port}`)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

function packument({ name, version, tarball }: PackedPackage, url: string): object {
  const bytes = readFileSync(tarball);
  const dist = {
    tarball: `${url}/files/${basename(tarball)}`,
    integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
  };
  const manifest = { ...(JSON.parse(fileIn(bytes, "package/package.json")) as object), dist };
  return { name, "dist-tags": { latest: version }, versions: { [version]: manifest } };
}

/** Text of a file in a tarball. */
export function fileIn(tarball: Buffer, name: string): string {
  const tar = gunzipSync(tarball);
  for (let at = 0; at < tar.length;) {
    const header = tar.subarray(at, at + TAR_BLOCK);
    const entry = header.subarray(0, 100).toString().replace(/\0.*$/su, "");
    const size = Number.parseInt(header.subarray(SIZE_AT, SIZE_AT + SIZE_DIGITS).toString(), 8) || 0;
    const start = at + TAR_BLOCK;
    if (entry === name) return tar.subarray(start, start + size).toString();
    at = start + Math.ceil(size / TAR_BLOCK) * TAR_BLOCK;
  }
  throw new Error(`${name} is not in the tarball`);
}
