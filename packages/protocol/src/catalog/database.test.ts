import { expect, it } from "vitest";
import { parseDatabaseBody, writeDatabase } from "./database.ts";
import { bodyOf, refusalOf } from "./testing/refusal.ts";

it("reads a name by the rule of collections", () => {
  expect(parseDatabaseBody(bodyOf({ name: "main" }))).toEqual({ name: "main" });
  expect(refusalOf(() => parseDatabaseBody(bodyOf({ name: "x" })))).toMatch(/^400 name: Expected a name/);
  expect(refusalOf(() => parseDatabaseBody(bodyOf("{}")))).toBe("422 name: is required");
});

it("writes id, name and tenant in this order", () => {
  const database = { tenant: "acme", name: "main", id: "00000000-0000-4000-8000-000000000001" };
  expect(writeDatabase(database)).toBe(
    '{"id":"00000000-0000-4000-8000-000000000001","name":"main","tenant":"acme"}',
  );
});
