import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { createDiskSpace } from "../folder/disk-space.ts";
import { LmdbEnvironment } from "./lmdb-environment.ts";

describe("a commit that is described in many turns", () => {
  it(
    "is there whole or not at all after its process was killed at any moment",
    { timeout: 60_000 },
    async () => {
      const folder = join(temporaryFolder(), "store");
      const path = fileURLToPath(new URL("testing/large-commits-process.ts", import.meta.url));
      for (let round = 0, written = 0; round < 4; round++) {
        const args = ["--conditions=@sheaf/source", "--import", "tsx", path, folder, String(written + 1)];
        const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
        onTestFinished(() => void child.kill("SIGKILL"));
        let told = "";
        child.stdout.on("data", (text: Buffer) => (told += text.toString()));
        await once(child.stdout, "data");
        await sleep(Math.random() * 300);
        const closed = once(child, "close");
        child.kill("SIGKILL");
        await closed;
        const environment = new LmdbEnvironment({
          ...{ folder, name: "collections/ab/test", disk: createDiskSpace(tmpdir()) },
        });
        const found = new Set<string>();
        for (const { value } of environment.entries({ start: Buffer.from("0"), end: Buffer.from("9") }))
          found.add(Buffer.from(value).toString());
        await environment.close();
        expect(found.size).toBe(1);
        // What it said last may be the one before the newest, of which it could not tell any more.
        const last = Number(told.trimEnd().split("\n").at(-1));
        written = Number([...found][0]);
        expect(written - last).toBeOneOf([0, 1]);
      }
    },
  );
});
