/**
 * What stands in for the images that the Dockerfile begins with, which no package registry has. For the build: this
 * machine's own file system, with writes beside it, and npm's package of Node. For the image: packages of Debian,
 * unpacked as distroless does, and the same Node.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { downloadDebian } from "./debian-packages.ts";
import { TOOLS } from "./tools.ts";

/** The packages of distroless/nodejs that hold files a server may use. */
const PACKAGES = [
  "base-files",
  "netbase",
  "tzdata",
  "libc6",
  "libgcc-s1",
  "libstdc++6",
  "libgomp1",
  "libssl3",
];
const USERS =
  "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n";
const GROUPS = "root:x:0:\nnonroot:x:65532:\n";

/** Mounts, so the caller has to have mounts of its own. Gives the root folder. */
export function buildBase(folder: string): string {
  const [upper, work, root] = ["upper", "work", "root"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [upper, work, root]) mkdirSync(path, { recursive: true });
  execFileSync("mount", [
    ...["-t", "overlay", "overlay", "-o", `lowerdir=/,upperdir=${upper},workdir=${work}`, root],
  ]);
  execFileSync("mount", ["-t", "proc", "proc", join(root, "proc")]);
  execFileSync("mount", ["--rbind", "/dev", join(root, "dev")]);
  installNode(join(root, "usr/local/bin"));
  return root;
}

export function imageBase(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const file of downloadDebian(PACKAGES, `${folder}-packages`))
    execFileSync("dpkg-deb", ["--extract", file, folder]);
  installNode(join(folder, "nodejs/bin"));
  for (const name of ["dev", "proc", "sys", "run", "home/nonroot", "tmp"])
    mkdirSync(join(folder, name), { recursive: true });
  chmodSync(join(folder, "tmp"), 0o1777);
  writeFileSync(join(folder, "etc/passwd"), USERS);
  writeFileSync(join(folder, "etc/group"), GROUPS);
  return folder;
}

function installNode(folder: string): void {
  const [name = ""] = readdirSync(join(TOOLS, "node_modules")).filter((each) =>
    each.startsWith("node-linux"),
  );
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(TOOLS, "node_modules", name, "bin/node"), join(folder, "node"));
  chmodSync(join(folder, "node"), 0o755);
}
