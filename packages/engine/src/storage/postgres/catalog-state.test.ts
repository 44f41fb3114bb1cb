import { expect, it } from "vitest";
import { CatalogState } from "./catalog-state.ts";

const MINUTE_MS = 60_000;

/** A database of one value, that can be away, late, and asked how often it was read. */
class Source {
  name = "a";
  isAway = false;
  isLate = false;
  reads = 0;
  now = 0;

  readonly read = async (): Promise<string> => {
    this.reads += 1;
    if (this.isLate) await new Promise((resolve) => setTimeout(resolve, 2_000));
    if (this.isAway) throw new Error("away");
    return this.name;
  };

  open(): CatalogState {
    return new CatalogState({ read: this.read, now: () => this.now });
  }
}

it("asks once for many callers, and again when it is due", async () => {
  const source = new Source();
  const state = source.open();
  const numbers = await Promise.all(Array.from({ length: 10 }, () => state.version()));
  expect(new Set(numbers).size).toBe(1);
  source.name = "b";
  expect(await state.version()).toBe(numbers[0]);
  expect(source.reads).toBe(1);
  source.now = 500;
  expect(await state.version()).not.toBe(numbers[0]);
});

it("gives another number for a state that has come back", async () => {
  const source = new Source();
  const state = source.open();
  const seen: (number | null)[] = [];
  for (const name of ["a", "b", "a"]) {
    source.name = name;
    seen.push(await state.version());
    source.now += 500;
  }
  expect(new Set(seen).size).toBe(3);
});

it("lets nothing be kept while a commit is under way, and nothing that was kept be used after it", async () => {
  const state = new Source().open();
  const before = await state.version();
  await state.during(async () => expect(await state.version()).toBeNull());
  expect(await state.version()).not.toBe(before);
  const failed = state.during(() => Promise.reject(new Error("no")));
  await expect(failed).rejects.toThrow("no");
  expect(await state.version()).not.toBeNull();
});

it("does not take an answer that a commit has overtaken", async () => {
  const source = new Source();
  const state = source.open();
  const before = await state.version();
  source.now = 500;
  const asked = state.version();
  await state.during(async () => void (source.name = "b"));
  expect([before, null]).not.toContain(await state.version());
  await asked;
});

it("keeps what is known for a minute while the database is away, then answers 503, then goes on", async () => {
  const source = new Source();
  const state = source.open();
  const before = await state.version();
  source.isAway = true;
  for (source.now = 500; source.now < MINUTE_MS; source.now += 500)
    expect(await state.version()).toBe(before);
  expect(source.reads).toBeLessThan(130);
  await expect(state.version()).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  source.isAway = false;
  source.now += 500;
  await state.version().catch(() => {});
  expect(await state.version()).toBe(before);
});

it("lets nothing be kept while the database takes long to answer", async () => {
  const source = new Source();
  const state = source.open();
  await state.version();
  source.isLate = true;
  source.now = 1_000;
  expect(await state.version()).toBeNull();
});

it("tells when it asks of what others have changed, and not of a commit that has done nothing", async () => {
  const source = new Source();
  const state = source.open();
  const first = await state.news();
  expect(first).toMatchObject({ ageMs: 0, isAway: false });
  const undone = state.during(
    () => Promise.reject(new Error("refused")),
    () => true,
  );
  await expect(undone).rejects.toThrow("refused");
  expect(await state.news()).toEqual(first);
  source.name = "b";
  source.now = 10;
  const changed = await state.news();
  expect(changed.state).not.toBe(first.state);
  source.isAway = true;
  source.now = 1_010;
  expect(await state.news()).toEqual({ state: changed.state, ageMs: 1_000, isAway: true });
});
