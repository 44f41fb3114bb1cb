import { describe, expect, it } from "vitest";
import { ModelMemory, type MemoryTenant } from "./model-memory.ts";

class Tenant implements MemoryTenant {
  readonly identifier: string;
  readonly bytes: number;
  readonly pinned: boolean;
  idle = true;
  lastUsed = 0;
  unloads = 0;

  constructor(identifier: string, bytes: number, pinned = false) {
    this.identifier = identifier;
    this.bytes = bytes;
    this.pinned = pinned;
  }

  unload(): Promise<void> {
    this.unloads++;
    return Promise.resolve();
  }
}

function used(tenant: Tenant, at: number): Tenant {
  tenant.lastUsed = at;
  return tenant;
}

describe("ModelMemory", () => {
  it("unloads the least recently used idle models, and no more than needed", async () => {
    const memory = new ModelMemory(100);
    const [a, b, c] = [used(new Tenant("a", 40), 3), used(new Tenant("b", 40), 1), new Tenant("c", 50)];
    await memory.reserve(a);
    await memory.reserve(b);
    await memory.reserve(c);
    expect([a.unloads, b.unloads]).toEqual([0, 1]);
    expect(memory.usedBytes).toBe(90);
  });

  it("never unloads what is pinned or in use", async () => {
    const memory = new ModelMemory(100);
    const pinned = new Tenant("pinned", 40, true);
    const busy = used(new Tenant("busy", 40), 2);
    busy.idle = false;
    await memory.reserve(pinned);
    await memory.reserve(busy);
    const next = new Tenant("next", 50);
    let loaded = false;
    const waiting = memory.reserve(next).then(() => (loaded = true));
    memory.noteIdle();
    await Promise.resolve();
    expect([loaded, busy.unloads, pinned.unloads]).toEqual([false, 0, 0]);
    busy.idle = true;
    memory.noteIdle();
    await waiting;
    expect([loaded, busy.unloads, pinned.unloads]).toEqual([true, 1, 0]);
  });

  it("refuses what cannot fit beside the pinned models, and serves the next in line", async () => {
    const memory = new ModelMemory(100);
    await memory.reserve(new Tenant("pinned", 70, true));
    const large = memory.reserve(new Tenant("large", 50));
    const small = memory.reserve(new Tenant("small", 30));
    await expect(large).rejects.toMatchObject({
      code: "model_unavailable",
      message: expect.stringContaining("--model-memory"),
    });
    await small;
    expect(memory.usedBytes).toBe(100);
  });

  it("gives room back on release", async () => {
    const memory = new ModelMemory(100);
    const first = new Tenant("first", 80);
    first.idle = false;
    await memory.reserve(first);
    const second = memory.reserve(new Tenant("second", 80));
    memory.release(first);
    await second;
    expect([memory.usedBytes, first.unloads]).toEqual([80, 0]);
  });
});
