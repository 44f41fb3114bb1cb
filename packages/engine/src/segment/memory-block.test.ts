/** When the columns of a block in memory are made anew. */
import { expect, it } from "vitest";
import { runSteps } from "../storage/steps.ts";
import type { DocColumns } from "./columns/doc-columns.ts";
import { MemoryBlock } from "./memory-block.ts";

function blockOf(rows: number): MemoryBlock {
  const block = new MemoryBlock();
  push(block, rows);
  return block;
}

function push(block: MemoryBlock, rows: number): void {
  for (let row = 0; row < rows; row++) runSteps(block.push(new Map([["n", row]])));
}

function made(block: MemoryBlock): DocColumns {
  const { columns } = block;
  runSteps(columns.column("n"));
  return columns;
}

it("keeps the columns of a block that is sealed before it is full", () => {
  for (const rows of [25, 32, 300]) {
    const block = blockOf(rows);
    block.seal();
    const columns = made(block);
    expect(columns.rows).toBe(rows - (rows % 32));
    expect(block.columns).toBe(columns);
    expect(block.columns.peek("n")).toBeDefined();
  }
});

it("has columns of whole words of all rows once it is sealed, before that of most", () => {
  const block = blockOf(300);
  const columns = made(block);
  expect(columns.rows).toBe(288);
  push(block, 200);
  expect(block.columns).toBe(columns);
  block.seal();
  expect(block.columns.rows).toBe(480);
  const filling = blockOf(300);
  made(filling);
  push(filling, 256);
  expect(filling.columns.rows).toBe(544);
});
