import { describe, expect, it } from "vitest";
import { Quarantine } from "./quarantine.ts";

const DAMAGED = "stored data is damaged: collections/ab: page 7; run `sheaf doctor`";
/** Without the place. */
const REFUSED = expect.stringMatching(
  /^the stored data of collection \[[-\w]+\] cannot be read; .*`sheaf doctor`/u,
);

/** A quarantine whose checks end when the test says so, and what it has asked and told. */
function start() {
  let now = 0;
  const asked: string[] = [];
  const told: [string, string | null][] = [];
  const verdicts: ((verdict: string | null | Error) => void)[] = [];
  const quarantine = new Quarantine({
    storeOf: (id) => id.replace(/-.*/u, ""),
    check: (id) => {
      asked.push(id);
      return new Promise((resolve, reject) =>
        verdicts.push((verdict) => (verdict instanceof Error ? reject(verdict) : resolve(verdict))),
      );
    },
    onVerdict: (store, reason, before) => reason !== before && told.push([store, reason]),
    now: () => now,
  });
  const decide = async (verdict: string | null | Error): Promise<void> => {
    await Promise.resolve();
    verdicts.shift()?.(verdict);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { quarantine, asked, told, decide, pass: (ms: number) => void (now += ms) };
}

function settled(
  ...admissions: readonly (Promise<void> | null)[]
): Promise<readonly PromiseSettledResult<void>[]> {
  return Promise.allSettled(admissions.map((admission) => admission ?? Promise.resolve()));
}

describe("quarantine", () => {
  it("lets every call through where nothing crashed", () => {
    expect(start().quarantine.admission("any")).toBeNull();
  });

  it("checks suspects one at a time while their calls wait, and keeps the damaged ones alone", async () => {
    const { quarantine, asked, told, decide } = start();
    const found = quarantine.suspect(["sound", "damaged"]);
    expect(quarantine.admission("bystander")).toBeNull();
    const outcome = settled(quarantine.admission("sound"), quarantine.admission("damaged"));
    await decide(null);
    expect(asked).toEqual(["sound", "damaged"]);
    expect(quarantine.admission("sound")).toBeNull();
    await decide(DAMAGED);
    expect(await outcome).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "collection_unavailable", message: REFUSED } },
    ]);
    expect(quarantine.kept).toEqual([{ store: "damaged", reason: DAMAGED }]);
    expect(await found).toEqual(["damaged"]);
    expect(told).toEqual([["damaged", DAMAGED]]);
  });

  it("refuses with 503 and Retry-After what has waited long for a check", async () => {
    const { quarantine, decide } = start();
    void quarantine.suspect(["large"]);
    await expect(quarantine.admission("large")).rejects.toMatchObject({
      code: "unavailable",
      retryAfterSeconds: 1,
    });
    await decide(null);
    expect(quarantine.admission("large")).toBeNull();
  });

  it("keeps nothing of which nobody can tell whether it is damaged", async () => {
    const { quarantine, told, decide } = start();
    void quarantine.suspect(["unknown"]);
    await decide(new Error("no process could be started"));
    expect(quarantine.admission("unknown")).toBeNull();
    expect(told).toEqual([]);
  });

  it("serves a collection again once its files are sound, and checks at a bounded pace", async () => {
    const { quarantine, asked, told, decide, pass } = start();
    void quarantine.suspect(["c"]);
    await decide(DAMAGED);
    const refused = { code: "collection_unavailable", message: REFUSED };
    for (let i = 0; i < 3; i++) await expect(quarantine.admission("c")).rejects.toMatchObject(refused);
    expect(asked).toHaveLength(1);
    pass(2_000);
    const still = settled(quarantine.admission("c"), quarantine.admission("c"));
    await Promise.resolve();
    pass(1_000);
    await decide(DAMAGED);
    expect(await still).toMatchObject([{ reason: refused }, { reason: refused }]);
    // That check took a second, so the next has to wait for three.
    pass(2_999);
    await expect(quarantine.admission("c")).rejects.toMatchObject(refused);
    expect(asked).toHaveLength(2);
    pass(1);
    const unknown = settled(quarantine.admission("c"));
    await decide(new Error("cannot be told"));
    expect(await unknown).toMatchObject([{ reason: refused }]);
    pass(2_000);
    const restored = quarantine.admission("c");
    await decide(null);
    await restored;
    expect(quarantine.admission("c")).toBeNull();
    expect(quarantine.kept).toEqual([]);
    expect(told).toEqual([
      ["c", DAMAGED],
      ["c", null],
    ]);
  });

  it("checks a suspect that crashed the next host too only once at a time", async () => {
    const { quarantine, asked, decide } = start();
    void quarantine.suspect(["c"]);
    void quarantine.suspect(["c"]);
    await decide(null);
    expect(asked).toEqual(["c"]);
    void quarantine.suspect(["c"]);
    await decide(null);
    expect(asked).toEqual(["c", "c"]);
  });

  it("keeps out all collections of a store that is damaged, and checks it once", async () => {
    const { quarantine, asked, decide } = start();
    const found = quarantine.suspect(["file"]);
    const outcome = settled(quarantine.admission("file-1"), quarantine.admission("file-2"));
    expect(quarantine.admission("other-1")).toBeNull();
    expect(quarantine.kept).toEqual([{ store: "file", reason: null }]);
    await decide(DAMAGED);
    expect(quarantine.kept).toEqual([{ store: "file", reason: DAMAGED }]);
    expect(await outcome).toMatchObject([{ reason: { message: REFUSED } }, { reason: { message: REFUSED } }]);
    await expect(quarantine.admission("file-3")).rejects.toMatchObject({ code: "collection_unavailable" });
    expect(await found).toEqual(["file"]);
    expect(asked).toEqual(["file"]);
  });
});
