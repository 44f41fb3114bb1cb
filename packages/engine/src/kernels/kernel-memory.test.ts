import { execFile } from "node:child_process";
import { Session } from "node:inspector";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ROWS } from "./argument-layouts.generated.ts";
import { KernelMemory, allocationBytes } from "./kernel-memory.ts";

describe("kernel memory", () => {
  it("hands out aligned zeroed stretches and refuses more than it has", () => {
    const memory = new KernelMemory(allocationBytes(100) + 65_000);
    const first = memory.allocate(100);
    const second = memory.allocate(1);
    expect(first % 64).toBe(0);
    expect(second - first).toBe(128);
    expect(memory.u8(first, 100).every((byte) => byte === 0)).toBe(true);
    expect(() => memory.allocate(70_000)).toThrow("kernel memory is too small");
    memory.close();
  });

  it("runs on the plain twins once 2,048 WASM memories exist, and on WASM again when one is closed", () => {
    const memories = Array.from({ length: 2_060 }, () => new KernelMemory(1_000));
    expect(memories.filter(({ kind }) => kind === "wasm").length).toBe(2_048);
    memories[0]?.close();
    memories[0]?.close();
    const next = [new KernelMemory(1_000), new KernelMemory(1_000)];
    expect(next.map(({ kind }) => kind)).toEqual(["wasm", "plain"]);
    for (const memory of [...memories, ...next]) {
      const args = memory.block(ROWS);
      memory.kernels.dotRows(args.pointer);
      memory.close();
    }
  });

  it("counts memories that nobody closed until they are collected", async () => {
    const kinds = Array.from({ length: 2_060 }, () => new KernelMemory(1_000).kind);
    expect(new Set(kinds)).toStrictEqual(new Set(["wasm", "plain"]));
    const session = new Session();
    session.connect();
    let isFreed = false;
    for (let i = 0; i < 100 && !isFreed; i++) {
      session.post("HeapProfiler.collectGarbage");
      await setTimeout(10);
      const memory = new KernelMemory(1_000);
      isFreed = memory.kind === "wasm";
      memory.close();
    }
    expect(isFreed).toBe(true);
    session.disconnect();
  });

  it("holds the kernels that assembly/ compiles to", async () => {
    const script = fileURLToPath(new URL("../../scripts/build-kernels.mjs", import.meta.url));
    await expect(promisify(execFile)(process.execPath, [script, "--check"])).resolves.toBeDefined();
  });
});
