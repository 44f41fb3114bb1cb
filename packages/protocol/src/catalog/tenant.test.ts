import { describe, expect, it } from "vitest";
import { LIMITS } from "../limits.ts";
import { parseTenantBody, parseTenantUpdate, writeTenant } from "./tenant.ts";
import { bodyOf, refusalOf } from "./testing/refusal.ts";

describe("tenant bodies", () => {
  it("reads a name and ignores what it does not know", () => {
    expect(parseTenantBody(bodyOf({ name: "acme", extra: 1 }))).toEqual({ name: "acme" });
  });

  it("reads a resource name", () => {
    expect(parseTenantUpdate(bodyOf({ resource_name: "r" }))).toEqual({ resourceName: "r" });
  });

  it.each([
    ["[]", "422 the body must be an object"],
    ["null", "422 the body must be an object"],
    ["3.0", "422 the body must be an object"],
    ["{}", "422 name: is required"],
    ['{"name":null}', "422 name: is required"],
    ['{"name":3.0}', "422 name: must be a string"],
    ['{"name":"t"}', "400 name: must be 3 to 128 bytes long"],
  ])("refuses %s", (text, refusal) => {
    expect(refusalOf(() => parseTenantBody(bodyOf(text)))).toBe(refusal);
  });

  it("refuses a resource name that is missing or too long", () => {
    expect(refusalOf(() => parseTenantUpdate({}))).toBe("422 resource_name: is required");
    const long = "r".repeat(LIMITS.nameCharacters + 1);
    expect(refusalOf(() => parseTenantUpdate({ resource_name: long }))).toMatch(/^400 resource_name/);
  });
});

describe("writeTenant", () => {
  it("writes name and resource name", () => {
    expect(writeTenant({ name: 'a"b', resourceName: null })).toBe('{"name":"a\\"b","resource_name":null}');
    expect(writeTenant({ name: "acme", resourceName: "r" })).toBe('{"name":"acme","resource_name":"r"}');
  });
});
