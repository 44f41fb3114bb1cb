import { expect, it } from "vitest";
import { lineageOf } from "../lineage.ts";

const ID = "0f8fad5b-d9cb-469f-a165-70867728950e";
const EPOCH = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

it("is the catalog's epoch for what is not divided, and another UUID for what is", () => {
  expect(lineageOf({ id: ID, epoch: EPOCH, schema: {} })).toBe(EPOCH);
  expect(lineageOf({ id: ID, epoch: "", schema: { partitions: 1 } })).toBe(ID);
  const divided = lineageOf({ id: ID, epoch: EPOCH, schema: { partitions: 2 } });
  // In logs and manifests: it may never change.
  expect(divided).toBe("5f741521-4a04-42c4-8612-cc6f00aef449");
});
