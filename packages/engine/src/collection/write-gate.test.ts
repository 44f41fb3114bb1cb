import { describe, expect, it, vi } from "vitest";
import { WriteGate } from "./write-gate.ts";

/** Sections that note when they begin and end, and end when told to. */
class Sections {
  readonly gate = new WriteGate();
  readonly log: string[] = [];
  readonly #ends = new Map<string, () => void>();

  work(name: string): () => Promise<string> {
    return async () => {
      this.log.push(`${name} begins`);
      await new Promise<void>((resolve) => this.#ends.set(name, resolve));
      this.log.push(`${name} ends`);
      return name;
    };
  }

  async end(name: string): Promise<void> {
    const finish = await vi.waitUntil(() => this.#ends.get(name));
    finish();
  }
}

describe("write gate", () => {
  it("runs shared sections side by side and exclusive ones alone, in the order they came", async () => {
    const sections = new Sections();
    const { gate } = sections;
    const all = [
      gate.shared(sections.work("a")),
      gate.shared(sections.work("b")),
      gate.exclusive(sections.work("X")),
      gate.shared(sections.work("c")),
      gate.exclusive(sections.work("Y")),
    ];
    for (const name of ["b", "a", "X", "c", "Y"]) await sections.end(name);
    expect(await Promise.all(all)).toEqual(["a", "b", "X", "c", "Y"]);
    const expected = ["a begins", "b begins", "b ends", "a ends", "X begins", "X ends"];
    expect(sections.log).toEqual([...expected, "c begins", "c ends", "Y begins", "Y ends"]);
  });

  it("goes on after a section that failed", async () => {
    const gate = new WriteGate();
    const fail = async (): Promise<never> => {
      throw new Error("no");
    };
    await expect(gate.shared(fail)).rejects.toThrow("no");
    await expect(gate.exclusive(fail)).rejects.toThrow("no");
    await expect(gate.shared(async () => 1)).resolves.toBe(1);
    await expect(gate.exclusive(async () => 2)).resolves.toBe(2);
  });
});
