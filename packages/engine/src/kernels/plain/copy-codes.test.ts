/** The kernel that copies codes: against its plain twin, and against the records. */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { randomOf } from "../../segment/dense/testing/data-sets.ts";
import { setFields } from "../argument-block.ts";
import { COPY } from "../argument-layouts.generated.ts";
import { RECORD, RECORD_BYTES } from "../kernels.ts";
import { KernelMemory } from "../kernel-memory.ts";
import { fillBytes, fillWords, sameBits } from "../testing/same-bits.ts";

const ROWS = 40;
/** More than two blocks, one of which is not full. */
const COPIED = 75;

/** Records with anything in them, and room for the copies of some. */
function prepareCopy(memory: KernelMemory, sixtyFours: number, seed: number) {
  const random = randomOf(seed);
  const copiedBytes = sixtyFours * 8;
  const codeBytes = Math.ceil(copiedBytes / 16) * 16;
  const args = memory.block(COPY);
  const records = fillBytes(memory, ROWS * (codeBytes + RECORD_BYTES), random);
  const ids = fillWords(memory, COPIED, () => random() * ROWS);
  const [blocks, factors] = [memory.allocate(96 * copiedBytes), memory.allocate(COPIED * 4)];
  const [biases, lists] = [memory.allocate(COPIED * 4), memory.allocate(COPIED * 2)];
  setFields(args, { records, codeBytes, copiedBytes, ids, count: COPIED });
  setFields(args, { blocks, factors, biases, lists });
  return args;
}

const sixtyFours = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(16, 64));

it("copies what its twin copies", () => {
  fc.assert(
    fc.property(sixtyFours, fc.integer(), (size, seed) => {
      const same = sameBits((memory) => {
        const args = prepareCopy(memory, size, seed);
        return (kernels) => kernels.copyCodes(args.pointer);
      });
      expect(same).toBe(true);
    }),
    { numRuns: 40 },
  );
});

it("puts every byte of a row's code where FastScan looks for it, and the rest of its record in order", () => {
  const memory = new KernelMemory(100_000);
  const args = prepareCopy(memory, 3, 5);
  memory.kernels.copyCodes(args.pointer);
  const { codeBytes, copiedBytes } = args;
  const ids = memory.u32(args.ids, COPIED);
  for (const [i, id] of ids.entries()) {
    const record = args.records + id * (codeBytes + RECORD_BYTES);
    const first = args.blocks + (i >>> 5) * copiedBytes * 32 + (i & 31);
    const copied = Array.from({ length: copiedBytes }, (_, byte) => memory.u8(first + byte * 32, 1)[0]);
    expect(copied).toEqual([...memory.u8(record, copiedBytes)]);
    const rest = memory.u32(record + codeBytes, 4);
    expect(memory.u32(args.factors, COPIED)[i]).toBe(rest[RECORD.factor]);
    expect(memory.u32(args.biases, COPIED)[i]).toBe(rest[RECORD.bias]);
    expect(memory.u16(args.lists, COPIED)[i]).toBe((rest[RECORD.list] ?? NaN) & 0xffff);
  }
  memory.close();
});
