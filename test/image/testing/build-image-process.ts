/**
 * Builds the Dockerfile without a container engine: runs its instructions one by one, in place of its base images on what
 * `base-images.ts` makes. Run with mounts of its own (`unshare --mount`), which end with it. Arguments: the folder to
 * build in. Leaves `image` (the root file system) and `image.json` (its configuration) there.
 */
import { execFileSync } from "node:child_process";
import { chownSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { buildBase, imageBase } from "./base-images.ts";
import { type Instruction, type Stage, execForm, ignores, pairs, parseDockerfile } from "./dockerfile.ts";
import type { ImageConfig } from "./image.ts";

const CONTEXT = fileURLToPath(new URL("../../..", import.meta.url));
const [, , folder = ""] = process.argv;
/** Root folders of the stages so far. */
const roots = new Map<string, string>();

interface State {
  readonly root: string;
  readonly env: Map<string, string>;
  /** Arguments of the build, seen by RUN only. */
  readonly args: Map<string, string>;
  workdir: string;
  user: string;
  volumes: string[];
  healthcheck: readonly string[];
  entrypoint: readonly string[];
  command: readonly string[];
}

const stages = parseDockerfile(readFileSync(join(CONTEXT, "deploy/docker/Dockerfile"), "utf8"));
const last = stages.map((stage, i) => build(stage, i === stages.length - 1)).at(-1);
if (last === undefined) throw new Error("the Dockerfile has no stage");
const config: ImageConfig = {
  user: last.user,
  env: Object.fromEntries(last.env),
  volumes: last.volumes,
  healthcheck: last.healthcheck,
  entrypoint: last.entrypoint,
  command: last.command,
};
writeFileSync(join(folder, "image.json"), JSON.stringify(config));

function build({ base, name, instructions }: Stage, isLast: boolean): State {
  const root = isLast ? imageBase(join(folder, "image")) : buildBase(join(folder, name ?? "stage"));
  console.log(`${base} is ${root}`);
  if (name !== null) roots.set(name, root);
  const state: State = {
    ...{ root, workdir: "/", user: "0:0", volumes: [], healthcheck: [], entrypoint: [], command: [] },
    env: new Map([["PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]]),
    args: new Map(),
  };
  for (const instruction of instructions) apply(state, instruction);
  return state;
}

function apply(state: State, instruction: Instruction): void {
  const { name, rest } = instruction;
  if (name === "RUN") run(state, rest);
  else if (name === "COPY") copy(state, instruction);
  else if (name === "WORKDIR") {
    state.workdir = rest;
    mkdirSync(join(state.root, rest), { recursive: true });
  } else if (name === "ENV") for (const [key, value] of pairs(rest)) state.env.set(key, value);
  else if (name === "ARG") for (const [key, value] of pairs(rest)) state.args.set(key, value);
  else if (name === "USER") state.user = rest;
  else if (name === "VOLUME") state.volumes.push(rest);
  else if (name === "HEALTHCHECK") state.healthcheck = execForm(rest.replace(/^CMD\s+/u, ""));
  else if (name === "ENTRYPOINT") state.entrypoint = execForm(rest);
  else if (name === "CMD") state.command = execForm(rest);
}

function run({ root, env, args, workdir }: State, script: string): void {
  console.log(`RUN ${script}`);
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const variables = { ...Object.fromEntries([...env, ...args]), HOME: "/root", TARGETARCH: arch };
  execFileSync("chroot", [root, "/bin/sh", "-c", `cd ${workdir} && ${script}`], {
    env: variables,
    stdio: ["ignore", "inherit", "inherit"],
  });
}

/** Of one folder into another; that is all that our Dockerfile copies. */
function copy({ root, workdir }: State, { flags, rest }: Instruction): void {
  const [from = "", to = ""] = rest.split(/\s+/u);
  const target = to.startsWith("/") ? join(root, to) : join(root, workdir, to);
  const { from: stage, chown } = flags;
  const source = stage === undefined ? join(CONTEXT, from) : join(roots.get(stage) ?? "", from);
  const isIgnored =
    stage === undefined ? ignores(readFileSync(join(CONTEXT, ".dockerignore"), "utf8")) : () => false;
  cpSync(source, target, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => path === source || !isIgnored(relative(source, path)),
  });
  if (chown !== undefined) {
    const [uid = 0, gid = 0] = chown.split(":").map(Number);
    chownSync(target, uid, gid);
  }
}
