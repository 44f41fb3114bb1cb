import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DocumentMemory } from "./document-memory.ts";
import type { DocBlock } from "../segment/doc-block.ts";
import { MemoryBlock } from "../segment/memory-block.ts";
import { BLOCK_DOCS } from "../segment/block-docs.ts";

/** Two full blocks and a part of a third. */
const BOUND = 1.3 * 1024 * 1024;
function fill(memory: DocumentMemory, block: DocBlock, text = "x".repeat(100)): void {
  const documents = memory.of(block);
  for (let row = 0; row < BLOCK_DOCS; row++) {
    if (documents.get(row) === undefined) documents.keep(row, Buffer.from(`${text} ${row}`));
  }
}

describe("DocumentMemory", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("gives back what it was told, by block and row", () => {
    const memory = new DocumentMemory();
    const [one, other] = [new MemoryBlock(), new MemoryBlock()];
    fill(memory, one);
    memory.of(other).keep(7, null);
    memory.of(other).keep(8, Buffer.alloc(0));
    for (const row of [0, 1, 4_095]) {
      expect(Buffer.from(memory.of(one).get(row)!).toString()).toBe(`${"x".repeat(100)} ${row}`);
    }
    expect(memory.of(other).get(7)).toBeNull();
    expect(memory.of(other).get(8)).toHaveLength(0);
    expect(memory.of(other).get(9)).toBeUndefined();
    expect(memory.of(new MemoryBlock()).get(0)).toBeUndefined();
  });

  it("keeps no long documents", () => {
    const memory = new DocumentMemory();
    const documents = memory.of(new MemoryBlock());
    documents.keep(0, Buffer.alloc(5_000));
    documents.keep(1, Buffer.alloc(4_000));
    expect(documents.get(0)).toBeUndefined();
    expect(documents.get(1)).toHaveLength(4_000);
  });

  it("stays within its bound, and makes room of what was not searched for a while", () => {
    const memory = new DocumentMemory(32 * BOUND);
    const [old, used, late] = [new MemoryBlock(), new MemoryBlock(), new MemoryBlock()];
    fill(memory, old);
    fill(memory, used);
    fill(memory, late);
    expect(memory.held).toBeLessThanOrEqual(BOUND);
    // Both others are in use.
    expect(memory.of(late).get(BLOCK_DOCS - 1)).toBeUndefined();
    expect(memory.of(old).get(BLOCK_DOCS - 1)).toBeDefined();
    vi.advanceTimersByTime(11_000);
    memory.of(used);
    fill(memory, late);
    expect(memory.of(late).get(BLOCK_DOCS - 1)).toBeDefined();
    expect(memory.of(used).get(BLOCK_DOCS - 1)).toBeDefined();
    expect(memory.of(old).get(0)).toBeUndefined();
    expect(memory.held).toBeLessThanOrEqual(BOUND);
  });
});
