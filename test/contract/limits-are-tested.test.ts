/** Every row of the limits table is held by a test that names it. */
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { LIMIT_TABLE } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";

const PACKAGES = fileURLToPath(new URL("../../packages/", import.meta.url));
/** Bounds that are an argument of the part that enforces them, whose tests set smaller ones. */
const BY_ARGUMENT: Readonly<Record<string, string>> = {
  queuedTokens: "inference/src/scheduler/admission.test.ts",
  queuedCharacters: "inference/src/scheduler/admission.test.ts",
  modelHeaderBytes: "inference/src/graph/safetensors-reader.test.ts",
};

const tests = readdirSync(PACKAGES).flatMap((name) =>
  readdirSync(`${PACKAGES}${name}`, { recursive: true, encoding: "utf8" })
    .filter((path) => /^src\/.*\.(?:test|suite)\.ts$/u.test(path))
    .map((path) => ({ path: `${name}/${path}`, text: readFileSync(`${PACKAGES}${name}/${path}`, "utf8") })),
);

describe("the limits table", () => {
  it.each(Object.keys(LIMIT_TABLE))("%s is held by a test", (name) => {
    const named = tests.some(
      ({ path, text }) => path === BY_ARGUMENT[name] || new RegExp(`\\bLIMITS\\.${name}\\b`, "u").test(text),
    );
    expect(named).toBe(true);
  });
});
