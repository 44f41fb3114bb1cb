import { expect, it } from "vitest";
import { WaitTimes } from "./wait-times.ts";

it("calls a kind short as long as its last ones were, whatever others take", () => {
  let now = 0;
  const times = new WaitTimes(1, () => now);
  const call = (kind: string, milliseconds: number): void => {
    times.begin(now, kind);
    const id = now;
    now += milliseconds;
    times.end(id + 1_000_000);
    times.end(id);
    // What has come is over.
    now += 100;
    times.end(id);
  };
  expect(times.isShort("write")).toBe(true);
  call("write", 3);
  expect(times.isShort("write")).toBe(false);
  expect(times.isShort("search")).toBe(true);
  for (let i = 0; i < 8; i++) call("write", 0.5);
  expect(times.isShort("write")).toBe(true);
  call("write", 1.5);
  expect(times.isShort("write")).toBe(true);
  call("write", 60_000);
  expect(times.isShort("write")).toBe(false);
  for (let i = 0; i < 8; i++) call("write", 0.5);
  expect(times.isShort("write")).toBe(true);
});
