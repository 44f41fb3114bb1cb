/** The bounds that no route may forget, because the server and not the route holds them: held on each of the table. */
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { LIMITS } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Route } from "../../packages/server/src/http/route.ts";
import { ROOT_KEY, type TestApp, startTestApp } from "../../packages/server/src/testing/test-app.ts";

const ID = "00000000-0000-4000-8000-000000000001";
const MODEL = { "x-service-embedding-model": "sheaf/bm25" };
const PARAMETERS: Readonly<Record<string, string>> = {
  tenant: "default_tenant",
  database: "default_database",
  collection: ID,
  crn: "default_tenant:default_database:none",
};

let test: TestApp;
beforeAll(async () => {
  test = await startTestApp({ concurrentRequests: 1 });
});
afterAll(() => test.close());

const routes = (wanted: (route: Route) => boolean): readonly (readonly [string, Route])[] =>
  test.app.routes.filter(wanted).map((route) => [`${route.method} ${pathOf(route)}`, route]);

/** Of the others nothing is read, whatever is sent. */
const readsBody = ({ method, scope }: Route): boolean =>
  method !== "GET" && method !== "DELETE" && scope !== "public";

function pathOf({ path }: Route): string {
  return path
    .replaceAll(/:(\w+)/gu, (_whole, name: string) => PARAMETERS[name] ?? "none")
    .replace("*", "some");
}

describe("every route", () => {
  it("refuses a body over the size limit before it reads it", async () => {
    const headers = { ...MODEL, "content-length": String(LIMITS.bodyBytes + 1) };
    for (const [request, route] of routes(readsBody)) {
      const { status } = await test.ask(request, { raw: "{}", headers });
      expect({ request, status }).toEqual({ request, status: route.tooLargeStatus ?? 413 });
    }
  });

  it("refuses a body that is nested too deep, wherever it reads one", async () => {
    const raw = `{"x":${"[".repeat(LIMITS.jsonDepth)}${"]".repeat(LIMITS.jsonDepth)}}`;
    const reading = routes(({ description }) => description?.body !== undefined);
    expect(reading.length).toBeGreaterThan(15);
    for (const [request] of reading) {
      // What is wrong with a search is the answer of a check.
      if (request.endsWith("/search/check")) continue;
      const { status, text } = await test.ask(request, { raw, headers: MODEL });
      expect({ request, status, text }).toEqual({
        request,
        status: 400,
        text: expect.stringMatching(/nested/u),
      });
    }
  });

  it("counts as one of the requests that a key may make at a time, unless it needs no key", async () => {
    const held = await holdRequest();
    for (const [request, { scope }] of routes(() => true)) {
      const { status } = await test.ask(request, { headers: MODEL });
      expect({ request, refused: status === 429 }).toEqual({ request, refused: scope !== "public" });
    }
    held.end();
  });
});

/** A request of the root key whose body does not come. */
async function holdRequest(): Promise<{ end(): void }> {
  await test.app.http.listen({ host: "127.0.0.1", port: 0 });
  const { port } = test.app.http.server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const arrived = once(test.app.http.server, "request");
  socket.write(
    `POST /embed HTTP/1.1\r\nHost: a\r\nx-service-token: ${ROOT_KEY}\r\nContent-Length: 9\r\n\r\n`,
  );
  await arrived;
  return { end: () => socket.destroy() };
}
