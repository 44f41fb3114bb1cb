import { describe, expect, it } from "vitest";
import { setFields } from "../../kernels/argument-block.ts";
import { TABLE } from "../../kernels/argument-layouts.generated.ts";
import { norm } from "../../kernels/distance.ts";
import { KernelMemory } from "../../kernels/kernel-memory.ts";
import { encodeSigns } from "../../kernels/plain/place.ts";
import { Rotation, rotatedSize, rotationBytes } from "./rotation.ts";
import { ERROR_PER_FACTOR, buildPlanes } from "./sign-code.ts";
import { gaussOf, randomOf } from "./testing/data-sets.ts";

/** An element that is there. */
function at(values: ArrayLike<number>, index: number): number {
  return values[index] ?? Number.NaN;
}

function rotate(vector: Float32Array): Float32Array {
  const size = rotatedSize(vector.length);
  const memory = new KernelMemory(rotationBytes(size));
  const rotation = new Rotation(memory, size);
  rotation.vector.set(vector);
  rotation.run();
  memory.close();
  return rotation.vector;
}

function buildTable(rotated: Float32Array): { table: Uint8Array; scale: number; shift: number } {
  const memory = new KernelMemory(rotated.length * 8 + 64);
  const args = memory.block(TABLE);
  const vector = memory.allocate(rotated.length * 4);
  const table = memory.allocate(rotated.length * 4);
  memory.f32(vector, rotated.length).set(rotated);
  setFields(args, { vector, size: rotated.length, table });
  memory.kernels.buildTable(args.pointer);
  memory.close();
  return { table: memory.u8(table, rotated.length * 4), scale: args.scale, shift: args.shift };
}

/** What FastScan adds up for one row. */
function sumOfTable(code: Uint8Array, table: Uint8Array): number {
  return code.reduce(
    (sum, byte, i) => sum + at(table, i * 32 + (byte & 15)) + at(table, i * 32 + 16 + (byte >> 4)),
    0,
  );
}

function countOnes(byte: number): number {
  return byte === 0 ? 0 : (byte & 1) + countOnes(byte >> 1);
}

describe.each([3, 64, 100, 384, 1_000, 1_024, 4_096])("codes of %i dimensions", (dimension) => {
  const gauss = gaussOf(randomOf(dimension));
  /** One dominant dimension: without a rotation its sign would be all a code says. */
  const next = (): Float32Array => new Float32Array(dimension).map((_, j) => (j === 0 ? 8 : 1) * gauss());

  it("rotation keeps lengths and dot products", () => {
    const [a, b] = [next(), next()];
    const [x, y] = [rotate(a), rotate(b)];
    expect(norm(x) / norm(a)).toBeCloseTo(1, 5);
    const before = a.reduce((sum, value, j) => sum + value * at(b, j), 0);
    const after = x.reduce((sum, value, j) => sum + value * at(y, j), 0);
    expect((before - after) / (norm(a) * norm(b))).toBeCloseTo(0, 5);
  });

  it("estimates dot products without bias and as precisely as it says", () => {
    const query = rotate(next());
    const planes = new Uint8Array(Math.ceil(query.length / 64) * 32);
    const { table, ...tableScale } = buildTable(query);
    const planeScale = buildPlanes(query, planes);
    const errors = { table: 0, planes: 0, bias: 0 };
    const rows = 300;
    for (let i = 0; i < rows; i++) {
      const row = rotate(next());
      const { factor, bits, code } = encodeSigns(row);
      const truth = row.reduce((sum, x, j) => sum + x * at(query, j), 0);
      const byTable = factor * (sumOfTable(code, table) * tableScale.scale + tableScale.shift);
      let weighted = 0;
      for (const [byte, value] of code.entries()) {
        for (let plane = 0; plane < 4; plane++) {
          const place = (byte >> 3) * 32 + plane * 8 + (byte & 7);
          weighted += countOnes(value & at(planes, place)) << plane;
        }
      }
      const byPlanes = factor * (weighted * planeScale.scale + bits * planeScale.low + planeScale.shift);
      const deviation = ERROR_PER_FACTOR * factor * norm(query);
      errors.bias += (byTable - truth) / deviation / rows;
      errors.table += ((byTable - truth) / deviation) ** 2 / rows;
      errors.planes += ((byPlanes - truth) / deviation) ** 2 / rows;
    }
    expect(Math.abs(errors.bias)).toBeLessThan(0.3);
    expect(Math.sqrt(errors.table)).toBeLessThan(1.3);
    expect(Math.sqrt(errors.planes)).toBeLessThan(1.4);
  });
});

describe("codes", () => {
  it("of the zero vector estimate zero", () => {
    expect(encodeSigns(new Float32Array(64))).toMatchObject({ factor: 0, bits: 0 });
    expect(buildTable(new Float32Array(64))).toMatchObject({ scale: 0, shift: 0 });
  });
});
