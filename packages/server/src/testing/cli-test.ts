/** Commands of the CLI in a test: a server that listens, and what they write to the console. */
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, vi } from "vitest";
import { type TestApp, startTestApp } from "./test-app.ts";

export interface CliTest {
  /** From the first test of the file on. */
  readonly app: TestApp;
  readonly url: string;
  /** Lines since the test began. */
  readonly out: string[];
  readonly errors: string[];
}

/** To be called at the top of a test file. */
export function useCli(): CliTest {
  let app: TestApp | null = null;
  const out: string[] = [];
  const errors: string[] = [];
  const started = (): TestApp => {
    if (app === null) throw new Error("the server starts with the first test");
    return app;
  };
  beforeAll(async () => {
    app = await startTestApp();
    await app.app.http.listen({ host: "127.0.0.1", port: 0 });
  });
  afterAll(() => started().close());
  beforeEach(() => {
    // The console is what a command writes to; listening to it replaces nothing of ours.
    vi.spyOn(console, "log").mockImplementation((line: string) => out.push(line));
    vi.spyOn(console, "error").mockImplementation((line: string) => errors.push(line));
    vi.spyOn(process.stderr, "write").mockImplementation((line) => errors.push(String(line)) > 0);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    out.length = 0;
    errors.length = 0;
  });
  return {
    get app() {
      return started();
    },
    get url() {
      return `http://127.0.0.1:${(started().app.http.server.address() as AddressInfo).port}`;
    },
    out,
    errors,
  };
}
