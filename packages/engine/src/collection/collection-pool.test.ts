import { Cancellation, SheafError } from "@sheaf/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { IndexMemory } from "../storage/files/index-memory.ts";
import { CollectionPool } from "./collection-pool.ts";

describe("a use of a collection whose opening takes long", () => {
  it("ends with 503 and a time to try again, while the opening goes on", async () => {
    let openings = 0;
    const { opening, fail } = anOpening();
    const open = (): Promise<never> => {
      openings++;
      return opening;
    };
    const pool = new CollectionPool({
      maxOpen: 8,
      maxDescriptors: 64,
      memory: new IndexMemory(),
      waitMs: 10,
      open,
      log: () => {},
      refusal: (error) => error,
      onProblem: () => {},
    });
    onTestFinished(() => pool.close());
    const use = (): Promise<void> => pool.use("a", undefined, () => Promise.resolve());
    const refusal = { code: "unavailable", retryAfterSeconds: 5 };
    await expect(use()).rejects.toMatchObject(refusal);
    await expect(use()).rejects.toMatchObject(refusal);
    expect(openings).toBe(1);
    fail(new SheafError("collection_unavailable", "it cannot be opened"));
    await expect(use()).rejects.toMatchObject({ code: "collection_unavailable" });
  });

  it("ends when its request does", async () => {
    const { opening, fail } = anOpening();
    const pool = new CollectionPool({
      maxOpen: 8,
      maxDescriptors: 64,
      memory: new IndexMemory(),
      open: () => opening,
      log: () => {},
      refusal: (error) => error,
      onProblem: () => {},
    });
    onTestFinished(() => pool.close());
    const request = new Cancellation();
    const used = pool.use("a", request, () => Promise.resolve());
    request.abort(new SheafError("cancelled", "the client has left"));
    await expect(used).rejects.toMatchObject({ code: "cancelled" });
    fail(new SheafError("collection_unavailable", "it cannot be opened"));
  });
});

function anOpening(): { opening: Promise<never>; fail: (error: SheafError) => void } {
  let fail: (error: SheafError) => void = () => {};
  const opening = new Promise<never>((_resolve, reject) => (fail = reject));
  return { opening, fail };
}
