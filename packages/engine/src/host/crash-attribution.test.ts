import { describe, expect, it } from "vitest";
import type { CallInFlight } from "./calls-in-flight.ts";
import { CrashAttribution } from "./crash-attribution.ts";

const MINUTE = 60_000;
let now = 0;
const call = (tenant: string | null, since: number): CallInFlight => ({ collection: "c", tenant, since });

describe("crash attribution", () => {
  it("names the tenant that is alone, else the one whose call had run longest", () => {
    const attribution = new CrashAttribution(() => now);
    expect(attribution.ended([call("alone", 5), call("alone", 9)])).toBe("alone");
    expect(attribution.ended([call("late", 30), call("early", 10), call("late", 20)])).toBe("early");
    expect(attribution.ended([call(null, 1), call("only", 50)])).toBe("only");
    expect(attribution.ended([call(null, 1)])).toBeNull();
    expect(attribution.ended([])).toBeNull();
  });

  it("refuses a tenant after three ends within ten minutes, and nobody else, until the window has passed", () => {
    now = 0;
    const attribution = new CrashAttribution(() => now);
    for (const at of [0, 4, 9]) {
      expect(attribution.refusal("heavy")).toBeNull();
      now = at * MINUTE;
      attribution.ended([call("heavy", now - 10), call("bystander", now - 1)]);
    }
    expect(attribution.refusal("heavy")).toMatchObject({
      code: "unavailable",
      retryAfterSeconds: 60,
      message: expect.stringContaining("3 times within 10 minutes"),
    });
    expect(attribution.refusal("bystander")).toBeNull();
    now = 10 * MINUTE - 1;
    expect(attribution.refusal("heavy")).toMatchObject({ retryAfterSeconds: 1 });
    now = 10 * MINUTE;
    expect(attribution.refusal("heavy")).toBeNull();
  });

  it("forgets ends that lie further apart", () => {
    const attribution = new CrashAttribution(() => now);
    for (const at of [0, 6, 12, 18]) {
      now = at * MINUTE;
      attribution.ended([call("slow", now)]);
      expect(attribution.refusal("slow")).toBeNull();
    }
    now = 19 * MINUTE;
    attribution.ended([call("slow", now)]);
    expect(attribution.refusal("slow")).toMatchObject({ retryAfterSeconds: 3 * 60 });
  });
});
