import { expect, it } from "vitest";
import { newStoreId } from "./new-store-id.ts";
import { sharedName } from "./folder/shared-names.ts";

it("is a UUID whose records lie in one of four environments, all of them equally often", () => {
  const ids = Array.from({ length: 4_000 }, newStoreId);
  const isUuid = (id: string): boolean =>
    /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/u.test(id);
  expect(ids.every(isUuid)).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(sharedName(id), (counts.get(sharedName(id)) ?? 0) + 1);
  expect(counts.size).toBe(4);
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(200);
});
