import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnProcess } from "@sheaf/process";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { engineSuite } from "../engine.suite.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { makeCollection, readAll, record, write } from "../testing/engine-fixtures.ts";
import { end, restarted } from "../testing/host-ends.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { createHostedEngine } from "./create-hosted-engine.ts";
import { runningServer } from "./data-lock.ts";
import type { HostedEngine } from "./hosted-engine.ts";

const suiteFolder = mkdtempSync(join(tmpdir(), "sheaf-hosted-"));
afterAll(() => rmSync(suiteFolder, { recursive: true, force: true }));

engineSuite("hosted engine", () => createHostedEngine({ dataFolder: suiteFolder }));

const EVERYTHING = { ids: null, where: null };
const PATIENCE = { timeout: 20_000, interval: 20 };

async function openEngine(dataFolder = temporaryFolder()): Promise<HostedEngine> {
  const engine = await createHostedEngine({ dataFolder });
  onTestFinished(() => engine.close());
  return engine;
}

describe("hosted engine", () => {
  it("loses nothing acknowledged when its host is killed under writes", async () => {
    const engine = await openEngine();
    const ref = await makeCollection(engine);
    const acknowledged = new Set<string>();
    let next = 0;
    for (let round = 0; round < 5; round++) {
      const { pid } = engine;
      const writers = Array.from({ length: 4 }, async () => {
        for (;;) {
          const batch = [next++, next++].map((n) => record(`r${n}`, { embedding: Float32Array.of(n, 0) }));
          await write(engine, ref, "add", ...batch);
          for (const { id } of batch) acknowledged.add(id);
        }
      });
      const enough = acknowledged.size + 40;
      await expect.poll(() => acknowledged.size, { ...PATIENCE, interval: 1 }).toBeGreaterThan(enough);
      end(engine, "SIGKILL");
      const ends = await Promise.allSettled(writers);
      for (const result of ends) {
        expect(result).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
      }
      await restarted(engine, pid);
      const found = await readAll(engine, ref);
      const ids = found.map(({ id }) => id);
      expect([...acknowledged].filter((id) => !ids.includes(id))).toEqual([]);
      for (const { id, embedding } of found) expect(embedding?.[0]).toBe(Number(id.slice(1)));
    }
    // Batches are whole or not there: both records of each stand side by side.
    const ids = (await readAll(engine, ref)).map(({ id }) => Number(id.slice(1)));
    for (let i = 0; i < ids.length; i += 2) expect(ids[i + 1]).toBe((ids[i] ?? Number.NaN) + 1);
  });

  it("checkpoints what a crash left dirty", async () => {
    const engine = await openEngine();
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a", { metadata: new Map([["k", 1n]]) }));
    end(engine, "SIGKILL");
    const read = async (): Promise<unknown> => {
      try {
        const { version, logPosition, dimension } = await engine.getCollection(ref);
        return { version, logPosition, dimension };
      } catch {
        // Restarting.
        return null;
      }
    };
    await expect.poll(read, PATIENCE).toEqual({ version: 1, logPosition: 1, dimension: 2 });
  });

  it("makes nothing in its folder that others may read", async () => {
    const dataFolder = temporaryFolder();
    const engine = await openEngine(dataFolder);
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("a"));
    await engine.forkCollection(ref, "fork");
    const modes = readdirSync(dataFolder, { recursive: true, encoding: "utf8" }).flatMap((path) => {
      // What was on its way may have gone to its place.
      const found = statSync(join(dataFolder, path), { throwIfNoEntry: false });
      if (found === undefined) return [];
      return [{ path, mode: found.mode & 0o777, expected: found.isDirectory() ? 0o700 : 0o600 }];
    });
    // Fewer where the fork lies in the same shared file.
    expect(modes.length).toBeGreaterThan(7);
    expect(modes.filter(({ mode, expected }) => mode !== expected)).toEqual([]);
  });

  it("is alone on its folder", async () => {
    const dataFolder = temporaryFolder();
    const engine = await openEngine(dataFolder);
    await expect(createHostedEngine({ dataFolder })).rejects.toThrow(
      `process ${process.pid}, engine host ${engine.pid}`,
    );
  });

  it("takes a folder over from a gateway that was killed", async () => {
    const dataFolder = temporaryFolder();
    const sign = join(temporaryFolder(), "up");
    const gateway = spawnProcess(new URL("../testing/gateway-process.ts", import.meta.url), {
      args: [dataFolder, sign],
    });
    onTestFinished(() => void gateway.kill("SIGKILL"));
    await expect.poll(() => existsSync(sign), PATIENCE).toBe(true);
    await expect(createHostedEngine({ dataFolder })).rejects.toThrow(
      `engine host ${readFileSync(sign, "utf8")}`,
    );
    gateway.kill("SIGKILL");
    await expect.poll(() => gateway.signalCode, PATIENCE).toBe("SIGKILL");
    const engine = await openEngine(dataFolder);
    const at = { tenant: "default_tenant", database: "default_database" };
    const { id } = await engine.getCollectionByName({ ...at, name: "left-behind" });
    expect(await engine.count({ ...at, id }, EVERYTHING)).toBe(1);
  });

  it("starts a host again that hangs", async () => {
    const logged: string[] = [];
    const engine = await createHostedEngine({
      dataFolder: temporaryFolder(),
      hangAfterMs: 5_000,
      log: ({ message }) => logged.push(message),
    });
    onTestFinished(() => engine.close());
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", record("kept"));
    const { pid } = engine;
    end(engine, "SIGSTOP");
    await expect(engine.count(ref, EVERYTHING)).rejects.toMatchObject({ code: "unavailable" });
    await restarted(engine, pid);
    expect(await engine.count(ref, EVERYTHING)).toBe(1);
    expect(logged).toContain("the engine host hangs and is killed");
  });

  it("says why it cannot start, and leaves the folder free", async () => {
    const dataFolder = temporaryFolder();
    const folder = new DataFolder(dataFolder);
    await (await createHostedEngine({ dataFolder })).close();
    rmSync(folder.catalog, { recursive: true });
    writeFileSync(folder.catalog, "not a folder");
    await expect(createHostedEngine({ dataFolder })).rejects.toMatchObject({ code: "failed_precondition" });
    expect(runningServer(folder.lockFile)).toBeNull();
  });
});
