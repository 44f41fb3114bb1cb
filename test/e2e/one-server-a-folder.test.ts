/** A data folder has one server: also where two containers mount it, and never on file systems that cannot lock. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";
import { COMMAND, sheafAt } from "./testing/sheaf-command.ts";
import { runWithoutLocks } from "./testing/without-locks.ts";

/** Process ids of its own, as a container has, with a user of its own, so that anybody may make one. */
const UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
/** Where the machine forbids it, the lock file of a server is made to name processes of another container. */
const isContainer = mayHaveContainers();
const CONTAINER = isContainer ? UNSHARE : [];
const ELSEWHERE = { pid: 1, started: "in another container" };

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe(`a data folder that a server uses which ${isContainer ? "is" : "seems to be"} in another container`, () => {
  let data: string;
  let container: ServedSheaf;
  beforeAll(async () => {
    data = join(folder, "data");
    container = await ServedSheaf.start({ data, under: CONTAINER });
    if (isContainer) return;
    const lock = JSON.parse(readFileSync(join(data, "lock.json"), "utf8")) as object;
    const named = { ...lock, gateway: ELSEWHERE, host: ELSEWHERE };
    writeFileSync(join(data, "lock.json"), JSON.stringify(named));
  });
  afterAll(async () => {
    // The one signal that `unshare` passes on.
    const ended = once(container.process, "exit");
    container.process.kill("SIGKILL");
    await ended;
  });

  it("is refused by a server, here and in a third one", async () => {
    const refused = {
      code: 1,
      output: expect.stringMatching(/in use by another Sheaf server: process \d+ \(of another container/u),
    };
    expect(await sheafAt("", ["serve", "--data", data])).toMatchObject(refused);
    const third = await ServedSheaf.launch({ data, under: CONTAINER });
    expect(await once(third.process, "exit")).toEqual([1, null]);
  });

  it.each([["doctor"], ["doctor", "--salvage", "any", "--to", "FILE"], ["compact"]])(
    "is left alone by %s, with an exit code of its own",
    async (...command) => {
      const file = join(folder, "saved.jsonl");
      const args = command.map((word) => (word === "FILE" ? file : word));
      expect(await sheafAt("", [...args, "--data", data])).toMatchObject({
        code: 3,
        output: expect.stringContaining("(of another container"),
      });
      expect(existsSync(file)).toBe(false);
    },
  );

  it("opens beside it where it is copied", async () => {
    const copy = join(folder, "copy");
    await cp(data, copy, { recursive: true });
    expect(await sheafAt("", ["doctor", "--data", copy])).toMatchObject({ code: 0 });
    const served = await ServedSheaf.start({ data: copy });
    expect((await served.request("/api/v2/heartbeat")).status).toBe(200);
    await served.dispose();
  });
});

describe("a file system that cannot lock", () => {
  it.each(["ENOLCK", "EOPNOTSUPP", "ENOSYS"] as const)(
    "is refused by name, with what to do, where it answers %s",
    async (error) => {
      const data = join(folder, `unlocked-${error}`);
      const program = [process.execPath, COMMAND, "serve", "--data", data];
      const { code, errors } = await runWithoutLocks(error, program);
      expect({ code, errors }).toEqual({
        code: 1,
        errors: expect.stringContaining(`${data} is on a file system that cannot lock files`),
      });
      expect(errors).toContain("use a folder on a local disk");
      expect(readFileSync(join(data, "lock.json"), "utf8")).toBe("");
    },
  );
});

function mayHaveContainers(): boolean {
  try {
    const [program = "", ...args] = UNSHARE;
    execFileSync(program, [...args, "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
