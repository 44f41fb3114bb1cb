/** The whole app over a real engine in a temporary folder and the real embedder, asked through `inject`. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "@sheaf/engine";
import { createLocalEngine } from "@sheaf/engine/local";
import { createEmbedder } from "@sheaf/inference";
import { pino } from "pino";
import { type App, type AppOptions, createApp } from "../app.ts";
import { type KeyStore, createRootKeyStore, firstOf } from "../auth/key-store.ts";
import type { Principal } from "../auth/principal.ts";
import { Lifecycle } from "../lifecycle.ts";
import { checkDescribed } from "./described.ts";

export const ROOT_KEY = "a-root-key-for-tests";
export const MINILM = "sentence-transformers/all-MiniLM-L6-v2";
export const DATABASE = "/api/v2/tenants/default_tenant/databases/default_database";
export const COLLECTIONS = `${DATABASE}/collections`;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** The parsed body; `undefined` where there is none, or none of JSON. */
  readonly body: unknown;
}

export interface Ask {
  readonly json?: unknown;
  /** The body as it is, instead of `json`. */
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** `null`: send no key. */
  readonly key?: string | null;
}

export interface TestApp {
  readonly app: App;
  readonly engine: Engine;
  readonly lifecycle: Lifecycle;
  /** `ask("GET /path")`. */
  ask(request: string, options?: Ask): Promise<Answer>;
  /** Makes a collection and gives the path of its records. */
  makeCollection(body: Readonly<Record<string, unknown>>): Promise<string>;
  close(): Promise<void>;
}

/** Keys beside the root key: token -> who it speaks for. */
export type TestKeys = Readonly<Record<string, Principal>>;

export async function startTestApp(
  overrides: Partial<AppOptions> = {},
  keys: TestKeys = {},
): Promise<TestApp> {
  const dataFolder = await mkdtemp(join(tmpdir(), "sheaf-server-test-"));
  const engine = await createLocalEngine({ dataFolder });
  const embedder = createEmbedder({ replicas: 1 });
  const lifecycle = new Lifecycle();
  lifecycle.advance("serving");
  const app = createApp({
    engine: () => engine,
    embedder,
    keys: firstOf(createRootKeyStore(ROOT_KEY), tableStore(keys)),
    lifecycle,
    logger: pino({ level: "silent" }),
    allowReset: true,
    corsAllowOrigins: [],
    ...overrides,
  });
  const ask = (request: string, options: Ask = {}): Promise<Answer> => askApp(app, request, options);
  return {
    app,
    engine,
    lifecycle,
    ask,
    makeCollection: async (body) => {
      const made = await ask(`POST ${COLLECTIONS}`, { json: body });
      if (made.status !== 200) throw new Error(made.text);
      return `${COLLECTIONS}/${(made.body as { id: string }).id}`;
    },
    close: async () => {
      await app.http.close();
      await app.ledger.close();
      await Promise.all([engine.close(), embedder.close()]);
      await rm(dataFolder, { recursive: true, force: true });
    },
  };
}

async function askApp({ http, routes }: App, request: string, options: Ask): Promise<Answer> {
  const [method = "GET", url = "/"] = request.split(" ");
  const payload = options.raw ?? (options.json === undefined ? undefined : JSON.stringify(options.json));
  const key = options.key === undefined ? ROOT_KEY : options.key;
  const reply = await http.inject({
    method: method as "GET",
    url,
    headers: {
      ...(key === null ? {} : { "x-service-token": key }),
      ...(payload === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers,
    },
    ...(payload === undefined ? {} : { payload }),
  });
  const text = reply.body;
  const isJson = String(reply.headers["content-type"]).startsWith("application/json");
  const body: unknown = text === "" || !isJson ? undefined : JSON.parse(text);
  const status = reply.statusCode;
  checkDescribed(routes, { request, sent: payload, status, received: body });
  return { status, headers: reply.headers, text, body };
}

function tableStore(keys: TestKeys): KeyStore {
  return { find: (token) => Promise.resolve(Object.hasOwn(keys, token) ? (keys[token] ?? null) : null) };
}
