import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { makeLockedFolder } from "./locked-folder.ts";

const PREFIX = "gateway-";
const MODULE = JSON.stringify(new URL("./locked-folder.ts", import.meta.url).href);

/** Another process with a folder of its own. */
async function holder(parent: string): Promise<{ readonly path: string; kill(): Promise<void> }> {
  const script = `import { makeLockedFolder } from ${MODULE};
    console.log((await makeLockedFolder(${JSON.stringify(parent)}, "${PREFIX}")).path);
    setInterval(() => {}, 1000);`;
  const args = ["--conditions=@sheaf/source", "--import", "tsx", "--input-type=module", "--eval", script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  const kill = async (): Promise<void> => {
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  };
  return { path: said.toString().trim(), kill };
}

it("removes the folders of processes that were killed, and no others", async () => {
  const parent = temporaryFolder();
  const [killed, living] = [await holder(parent), await holder(parent)];
  const strange = join(parent, `${PREFIX}of-somebody`);
  mkdirSync(strange);
  await killed.kill();
  const own = await makeLockedFolder(parent, PREFIX);
  expect([killed.path, living.path, own.path, strange].map((path) => existsSync(path))).toEqual([
    ...[false, true, true, true],
  ]);
  const again = await makeLockedFolder(parent, PREFIX);
  expect(existsSync(own.path)).toBe(true);
  await Promise.all([own.remove(), again.remove()]);
  expect(existsSync(own.path)).toBe(false);
});
