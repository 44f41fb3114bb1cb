import { describe, expect, it } from "vitest";
import { corsHeaders } from "./cors.ts";

describe("corsHeaders", () => {
  it("says nothing where no origin is allowed", () => {
    expect(corsHeaders("https://a.example", [], undefined)).toEqual({});
  });

  it("admits an origin of the list and echoes the headers that the browser asks for", () => {
    const headers = corsHeaders("https://a.example", ["https://a.example"], "x-service-token");
    expect(headers).toMatchObject({
      "access-control-allow-origin": "https://a.example",
      "access-control-allow-headers": "x-service-token",
      vary: "origin",
    });
  });

  it("admits no other, and lets caches know that it depends", () => {
    expect(corsHeaders("https://b.example", ["https://a.example"], undefined)).toEqual({ vary: "origin" });
    expect(corsHeaders(undefined, ["https://a.example"], undefined)).toEqual({ vary: "origin" });
  });

  it("admits every origin under *, without credentials", () => {
    const headers = corsHeaders("https://b.example", ["*"], undefined);
    expect(headers["access-control-allow-origin"]).toBe("*");
    expect(headers).not.toHaveProperty("access-control-allow-credentials");
    expect(headers["access-control-expose-headers"]?.split(", ")).toEqual(
      expect.arrayContaining(["retry-after", "ratelimit", "ratelimit-policy", "ratelimit-remaining"]),
    );
  });
});
