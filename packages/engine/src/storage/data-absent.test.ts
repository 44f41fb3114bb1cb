import { expect, it } from "vitest";
import { Cancellation } from "@sheaf/protocol";
import { AbsentTogether, DataAbsent, withData } from "./data-absent.ts";

const never = new Promise<void>(() => {});
const whenWarm = (): Promise<void> => never;

it.each([null, () => never])(
  "ends a read that waits for what is not here with the read's signal",
  async (fetch) => {
    const signal = new Cancellation();
    let reads = 0;
    const reading = (): (() => void) => {
      reads++;
      return () => void reads--;
    };
    const read = withData({ whenWarm, reading }, () => Promise.reject(new DataAbsent(fetch)), signal);
    await Promise.resolve();
    signal.abort(new Error("given up"));
    await expect(read).rejects.toThrow("was cancelled");
    expect(reads).toBe(0);
  },
);

it("waits until everything is here where a read asks for more and more", async () => {
  let [isWarm, fetches] = [false, 0];
  const source = {
    whenWarm: async () => {
      isWarm = true;
    },
  };
  const read = async (): Promise<string> => {
    if (isWarm) return "answered";
    throw new DataAbsent(async () => void fetches++);
  };
  expect(await withData(source, read)).toBe("answered");
  expect(fetches).toBe(64);
});

it("throws what a read throws, and what cannot be fetched where nothing can", async () => {
  const absent = new DataAbsent(() => Promise.resolve());
  await expect(withData({}, () => Promise.reject(absent))).rejects.toBe(absent);
  const other = new Error("other");
  await expect(withData({ whenWarm }, () => Promise.reject(other))).rejects.toBe(other);
});

it("begins again as often as one of its parts needs, however many parts there are", async () => {
  const [parts, needs] = [100, 3];
  const fetched = Array.from({ length: parts }, () => 0);
  let begun = 0;
  const read = async (): Promise<string> => {
    begun++;
    const absent = new AbsentTogether();
    for (const [i, count] of fetched.entries())
      try {
        if (count < needs) throw new DataAbsent(async () => void fetched[i]!++);
      } catch (error) {
        absent.hear(error);
      }
    absent.require();
    return "answered";
  };
  expect(await withData({ whenWarm }, read)).toBe("answered");
  // 32 at a time.
  expect(begun).toBe(1 + needs * Math.ceil(parts / 32));
});

it("stops at once for records, and for what cannot be fetched", () => {
  const records = new DataAbsent(() => Promise.resolve(), "records");
  for (const error of [records, new DataAbsent(null), new Error("other")])
    expect(() => new AbsentTogether().hear(error)).toThrow(error);
});
