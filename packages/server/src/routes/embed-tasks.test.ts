/** Tasks that the operator adds to the built-in ones. */
import { DEFAULT_TASKS } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, MINILM, type TestApp, startTestApp } from "../testing/test-app.ts";

let test: TestApp;
beforeAll(async () => {
  test = await startTestApp({
    tasks: { ...DEFAULT_TASKS, faq: { documents: "", query: "Find the answer" } },
  });
});
afterAll(() => test.close());

function embed(json: unknown): Promise<Answer> {
  return test.ask("POST /embed", { json, headers: { "x-service-embedding-model": MINILM } });
}

describe("tasks of a file", () => {
  it.each(["faq", "nl_to_code"])("knows %s", async (task) => {
    const reply = await embed({ texts: ["a question"], task, target: "query" });
    expect(reply.status).toBe(200);
    // The model takes no instructions, so the task changes nothing.
    expect(reply.body).toEqual((await embed({ texts: ["a question"], instructions: "" })).body);
  });

  it("names all of them where one is unknown", async () => {
    const reply = await embed({ texts: ["a"], task: "other", target: "query" });
    expect(reply.status).toBe(400);
    expect(reply.text).toMatch(/nl_to_code.*faq/u);
  });
});
