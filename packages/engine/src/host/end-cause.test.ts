import { expect, it } from "vitest";
import { endCause } from "./end-cause.ts";

const HEAP =
  "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n 1: 0xb78db3";

it.each([
  [null, "SIGABRT", HEAP, "out of memory"],
  [null, "SIGTRAP", "# Fatal process out of memory: Zone", "out of memory"],
  [null, "SIGABRT", "terminate called after throwing an instance of 'std::bad_alloc'", "out of memory"],
  [1, null, "RangeError: Array buffer allocation failed", "out of memory"],
  [null, "SIGABRT", "double free or corruption", "crash"],
  [null, "SIGSEGV", "", "crash"],
  [null, "SIGBUS", "a warning from long before", "crash"],
  [1, null, "TypeError: x is not a function", "exit"],
  [null, "SIGKILL", "", "kill"],
  [null, "SIGTERM", HEAP, "kill"],
] as const)("code %s, signal %s, last words %j: %s", (code, signal, stderr, cause) => {
  expect(endCause({ code, signal, stderr }, false)).toBe(cause);
});

it("a host that was given up hung, whatever ended it", () => {
  expect(endCause({ code: null, signal: "SIGKILL", stderr: "" }, true)).toBe("hang");
});
