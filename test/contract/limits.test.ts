/**
 * Every bound of the table and every bound that is a setting: what is at it passes, what is over it is refused with the
 * status that the page of limits says, in words that name it. A bound without a case does not compile.
 */
import { BOUND_SETTINGS } from "@sheaf/server";
import { LIMIT_TABLE, type LimitName } from "@sheaf/protocol";
import { afterAll, describe, expect, it } from "vitest";
import { BODY_CASES } from "./limits/body-cases.ts";
import { CATALOG_CASES } from "./limits/catalog-cases.ts";
import { Bench, type CaseOf, type LimitCase } from "./limits/limit-case.ts";
import { RECORD_CASES } from "./limits/record-cases.ts";
import { SEARCH_CASES } from "./limits/search-cases.ts";
import { SETTING_CASES } from "./limits/setting-cases.ts";
import { TIME_CASES } from "./limits/time-cases.ts";

const CASES: { readonly [name in LimitName]: CaseOf } = {
  ...BODY_CASES,
  ...RECORD_CASES,
  ...SEARCH_CASES,
  ...CATALOG_CASES,
  ...TIME_CASES,
};
const bench = new Bench();
afterAll(() => bench.close());

function holds(name: string, { at, over, says }: LimitCase, status: number | null): void {
  it(`${name}: at the bound`, async () => {
    expect(await at(bench)).toEqual({ status: expect.toSatisfy(isSuccess), message: "" });
  });

  it(`${name}: over it`, async () => {
    const outcome = await over(bench);
    if (status === null) expect(outcome).toEqual({ status: expect.toSatisfy(isSuccess), message: "" });
    else expect(outcome).toEqual({ status, message: expect.stringMatching(says) });
  });
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

describe("the table of limits", () => {
  it("has a case for every row", () => {
    expect(Object.keys(CASES).sort()).toEqual(Object.keys(LIMIT_TABLE).sort());
    expect(Object.keys(SETTING_CASES).sort()).toEqual(Object.keys(BOUND_SETTINGS).sort());
  });

  for (const [name, { value, over }] of Object.entries(LIMIT_TABLE)) {
    holds(name, CASES[name as LimitName](value), over);
  }

  it("refuses what is too large with 400 on /embed_sparse, whose contract knows no 413", async () => {
    const headers = { "x-service-embedding-model": "sheaf/bm25" };
    const { textBytes, bodyBytes } = LIMIT_TABLE;
    const text = { texts: ["a".repeat(textBytes.value + 1)], instructions: "" };
    expect(await bench.send("POST /embed_sparse", { json: text, headers })).toMatchObject({ status: 400 });
    const raw = " ".repeat(bodyBytes.value + 1);
    expect(await bench.send("POST /embed_sparse", { raw, headers })).toMatchObject({ status: 400 });
  });
});

describe("bounds that are settings", () => {
  for (const [name, { over }] of Object.entries(BOUND_SETTINGS)) {
    holds(name, SETTING_CASES[name as keyof typeof SETTING_CASES], over);
  }
});
