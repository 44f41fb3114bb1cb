import { createRequire } from "node:module";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { prepareModelFolder } from "../graph/prepare-model.ts";
import { DEFAULT_HANG_AFTER_MS, ModelReplica, type ModelReplicaOptions } from "./model-replica.ts";
import type { ReplicaSpec } from "./replica-messages.ts";

const bundled = dirname(createRequire(import.meta.url).resolve("@sheaf/model-minilm/package.json"));
const workFolder = join(tmpdir(), "sheaf-replica-test-unused");
const prepared = await prepareModelFolder(bundled, { head: "mean", workFolder });
const spec: ReplicaSpec = {
  modelPath: prepared.modelPath,
  inputs: prepared.inputs,
  output: prepared.output,
  padId: prepared.padId,
  sparse: false,
};
const HELLO = Int32Array.from([101, 7592, 2088, 102]);

const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function replica(options: Partial<ModelReplicaOptions> = {}): { model: ModelReplica; events: string[] } {
  const events: string[] = [];
  const model = new ModelReplica({
    name: "a model",
    spec,
    hangAfterMs: DEFAULT_HANG_AFTER_MS,
    onEvent: (event) => events.push(event),
    ...options,
  });
  cleanups.push(() => model.close());
  return { model, events };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(5);
}

function pidOf(model: ModelReplica): number {
  if (model.pid === undefined) throw new Error("the replica has no process");
  return model.pid;
}

function outcome(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => error);
}

describe("ModelReplica", () => {
  it("loads at its first batch and answers every text of it in order", async () => {
    const { model } = replica();
    expect(model.pid).toBeUndefined();
    const longer = Int32Array.from([101, 7592, 2088, 7592, 2088, 7592, 102]);
    const together = await model.run([HELLO, longer, HELLO]);
    const [alone] = await model.run([HELLO]);
    expect(together.map((vector) => vector instanceof Float32Array && vector.length)).toEqual([
      384, 384, 384,
    ]);
    expect(together[0]).toEqual(together[2]);
    const differences = Float32Array.from(alone as Float32Array, (value, index) =>
      Math.abs(value - ((together[0] as Float32Array)[index] ?? Number.NaN)),
    );
    expect(Math.max(...differences)).toBeLessThanOrEqual(1e-6);
  });

  it("leaves ONNX Runtime's telemetry off, which would begin with an identifier in the home folder", async () => {
    const home = mkdtempSync(join(tmpdir(), "sheaf-replica-home-"));
    cleanups.push(
      () => rmSync(home, { recursive: true }),
      () => void vi.unstubAllEnvs(),
    );
    vi.stubEnv("HOME", home)
      .stubEnv("XDG_CACHE_HOME", join(home, "cache"))
      .stubEnv("ORT_DISABLE_TELEMETRY", "");
    const { model } = replica();
    await model.run([HELLO]);
    await model.close();
    expect(readdirSync(home)).toEqual([]);
  });

  it("comes back and answers when it is killed while it loads", async () => {
    const { model, events } = replica();
    const answer = model.run([HELLO]);
    await until(() => model.pid !== undefined);
    expect(model.ready).toBe(false);
    process.kill(pidOf(model), "SIGKILL");
    expect(await answer).toHaveLength(1);
    expect(events).toEqual(["a model replica of a model ended (SIGKILL); starting another"]);
  });

  it("gives up a batch whose process dies at every start", async () => {
    const { model } = replica();
    const killer = setInterval(() => {
      if (model.pid !== undefined) process.kill(model.pid, "SIGKILL");
    }, 5);
    expect(await outcome(model.run([HELLO]))).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    clearInterval(killer);
    expect(await model.run([HELLO])).toHaveLength(1);
  });

  it("answers the batch of a killed process with 503 and the next one from another process", async () => {
    const { model } = replica();
    await model.run([HELLO]);
    const first = pidOf(model);
    process.kill(first, "SIGSTOP");
    const lost = outcome(model.run([HELLO]));
    process.kill(first, "SIGKILL");
    expect(await lost).toMatchObject({ code: "unavailable", status: 503, retryAfterSeconds: 1 });
    expect(await model.run([HELLO])).toHaveLength(1);
    expect(model.pid).not.toBe(first);
  });

  it("kills a process that does not answer", async () => {
    const { model, events } = replica({ hangAfterMs: 2_000 });
    await model.run([HELLO]);
    process.kill(pidOf(model), "SIGSTOP");
    expect(await outcome(model.run([HELLO]))).toMatchObject({ code: "unavailable" });
    expect(events[0]).toBe("a model replica of a model hangs; killing it");
    expect(await model.run([HELLO])).toHaveLength(1);
  });

  it("says once why a damaged file cannot be loaded and refuses without dying", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sheaf-replica-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const modelPath = join(folder, "model.onnx");
    writeFileSync(modelPath, "no model");
    const { model, events } = replica({ spec: { ...spec, modelPath } });
    expect(await outcome(model.run([HELLO]))).toMatchObject({ code: "model_unavailable", status: 503 });
    const { pid } = model;
    expect(await outcome(model.run([HELLO]))).toMatchObject({ code: "model_unavailable" });
    expect(model.pid).toBe(pid);
    expect(events).toHaveLength(1);
    expect(events[0]).toContain("the model a model cannot be loaded");
  });
});
