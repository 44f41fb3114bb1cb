import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openApiDocument } from "../openapi/document.ts";
import { type TestApp, startTestApp } from "../testing/test-app.ts";

let test: TestApp;

beforeAll(async () => {
  test = await startTestApp({ consoleFolder: null });
});

afterAll(async () => {
  await test.close();
});

/** Without a key, as a browser asks. */
async function get(url: string): Promise<{ status: number; type: string; policy: string; text: string }> {
  const reply = await test.app.http.inject({ method: "GET", url });
  return {
    status: reply.statusCode,
    type: String(reply.headers["content-type"]),
    policy: String(reply.headers["content-security-policy"]),
    text: reply.body,
  };
}

describe("the documents", () => {
  it.each([
    ["/openapi.json", "v2"],
    ["/embed/openapi.json", "embed"],
  ] as const)("%s describes the routes of %s, without a key", async (url, surface) => {
    const { status, type, text } = await get(url);
    expect([status, type]).toEqual([200, "application/json; charset=utf-8"]);
    const expected: unknown = JSON.parse(JSON.stringify(openApiDocument(surface, test.app.routes)));
    expect(JSON.parse(text)).toEqual(expected);
  });
});

describe("GET /", () => {
  const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

  it.each([BROWSER, "text/html", "TEXT/HTML;charset=utf-8", "application/json, text/html;q=0.1"])(
    "says what this is and where its documentation is to who accepts %s",
    async (accept) => {
      const reply = await test.app.http.inject({ method: "GET", url: "/", headers: { accept } });
      expect([reply.statusCode, reply.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
      expect(reply.headers["content-security-policy"]).toContain("default-src 'none'");
      expect(reply.headers["vary"]).toBe("accept");
      expect(reply.body).toContain('<a href="docs">');
    },
  );

  it.each([undefined, "*/*", "application/json", "text/*", "text/html;q=0, */*", "text/htmlx"])(
    "is JSON to who accepts %s",
    async (accept) => {
      const headers = accept === undefined ? {} : { accept };
      const reply = await test.app.http.inject({ method: "GET", url: "/", headers });
      expect([reply.statusCode, reply.headers["content-type"]]).toEqual([
        200,
        "application/json; charset=utf-8",
      ]);
      expect(reply.headers["vary"]).toBe("accept");
      expect(reply.json()).toEqual({
        name: "sheaf",
        version: expect.stringMatching(/^\d+\.\d+\.\d+/u) as unknown,
        docs: "/docs",
        ready: "/readyz",
      });
      const head = await test.app.http.inject({ method: "HEAD", url: "/", headers });
      expect([head.statusCode, head.body]).toEqual([200, ""]);
    },
  );

  it("names its methods to others", async () => {
    const reply = await test.app.http.inject({ method: "PUT", url: "/" });
    expect([reply.statusCode, reply.headers.allow]).toEqual([405, "POST, GET, HEAD, OPTIONS"]);
  });
});

describe("/docs", () => {
  it("is a page that loads nothing from elsewhere", async () => {
    const { status, type, policy, text } = await get("/docs");
    expect([status, type]).toEqual([200, "text/html; charset=utf-8"]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*/u);
    expect(text).not.toMatch(/https?:|\/\//u);
  });

  it("has every file that it asks for", async () => {
    const page = await get("/docs");
    const asked = [...page.text.matchAll(/(?:src|href)="(docs\/[^"]+)"/gu)].map((match) => match[1] ?? "");
    expect(asked).toHaveLength(4);
    for (const name of asked) {
      const { status, type, policy, text } = await get(`/${name}`);
      const expected = name.endsWith(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
      expect([name, status, type]).toEqual([name, 200, expected]);
      expect(policy).toContain("default-src 'none'");
      expect(text.length).toBeGreaterThan(100);
    }
  });

  it("has the documents where its script looks for them", async () => {
    const { text } = await get("/docs/start.js");
    const urls = [...text.matchAll(/url: "([^"]+)"/gu)].map((match) => match[1]);
    expect(urls).toEqual(["openapi.json", "embed/openapi.json"]);
  });

  it("has no other files", async () => {
    for (const name of ["package.json", "..%2fpackage.json", "%2e%2e%2findex.js", "index.html"]) {
      expect([name, (await get(`/docs/${name}`)).status]).toEqual([name, 404]);
    }
  });

  it("is found with a slash at the end", async () => {
    const reply = await test.app.http.inject({ method: "GET", url: "/docs/" });
    expect([reply.statusCode, reply.headers.location]).toEqual([308, "../docs"]);
  });

  it("answers other methods as every path does", async () => {
    const reply = await test.app.http.inject({ method: "POST", url: "/docs" });
    expect([reply.statusCode, reply.headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });
});
