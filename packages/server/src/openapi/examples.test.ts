import { afterAll, beforeAll, expect, it } from "vitest";
import { COLLECTIONS, type TestApp, startTestApp } from "../testing/test-app.ts";
import { EXAMPLES } from "./examples.ts";

let test: TestApp;
beforeAll(async () => {
  test = await startTestApp();
});
afterAll(() => test.close());

async function send(request: string, example: string): Promise<unknown> {
  const { status, body, text } = await test.ask(request, { json: EXAMPLES[example] });
  expect([200, 201], `${request}: ${text}`).toContain(status);
  return body;
}

it("examples work one after the other", async () => {
  await send("POST /api/v2/tenants", "TenantBody");
  const { id } = (await send(`POST ${COLLECTIONS}`, "CollectionBody")) as { id: string };
  const notes = `POST ${COLLECTIONS}/${id}`;
  await send(`${notes}/add`, "AddBody");
  await send(`${notes}/update`, "ChangeBody");
  expect(await send(`${notes}/get`, "GetBody")).toMatchObject({ ids: ["bread", "tides"] });
  expect(await send(`${notes}/search`, "SearchBody")).toMatchObject({ ids: [["tides", "bread"]] });
  expect(await send(`${notes}/search/check`, "SearchBody")).toMatchObject({ problems: [], warnings: [] });
  expect(await send(`${notes}/query`, "QueryBody")).toMatchObject({ ids: [expect.any(Array)] });
  expect(await send(`${notes}/count`, "CountBody")).toBe(1);
  expect(await send(`${notes}/facets`, "FacetsBody")).toMatchObject({ room: { missing: 0 } });
  await send(`${notes}/conditional/get`, "ReadBody");
  await send(`${notes}/fork`, "ForkBody");
  expect(await send(`${notes}/delete`, "DeleteBody")).toEqual({ deleted: 0 });
  await send("POST /api/v2/keys", "KeyBody");
  expect(await send("POST /api/v2/models/pull", "PullBody")).toMatchObject({ available: true });
});
