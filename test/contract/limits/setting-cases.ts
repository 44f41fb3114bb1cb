/** Bounds that are settings, each on a server of its own that sets it low. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ByteBudget, type ByteBudgetOptions } from "@sheaf/protocol";
import { createLocalEngine } from "@sheaf/engine/local";
import type { AppOptions } from "../../../packages/server/src/app.ts";
import type { Principal } from "../../../packages/server/src/auth/principal.ts";
import type { BoundSettings } from "../../../packages/server/src/settings/bound-settings.ts";
import {
  COLLECTIONS,
  MINILM,
  ROOT_KEY,
  type TestApp,
  startTestApp,
} from "../../../packages/server/src/testing/test-app.ts";
import { type LimitCase, type Outcome, called, outcomeOf, times } from "./limit-case.ts";

const BM25 = { "x-service-embedding-model": "sheaf/bm25" };
const BOUND: Principal = {
  id: "bound",
  tenant: "default_tenant",
  database: null,
  scopes: new Set(["embed"]),
};
/** 128 words; a model takes tens of milliseconds for it. */
const LONG_TEXT = "word ".repeat(128);
const SOON_SECONDS = 0.1;
const LATE_SECONDS = 60;
const KEEP = { databases: 0, collections: 0, keys: 0, records: 0, bytes: 0 };

export const SETTING_CASES: { readonly [name in keyof BoundSettings]: LimitCase } = {
  requestSeconds: {
    at: () => on({ requestSeconds: LATE_SECONDS }, (test) => embed(test, 1)),
    over: () => on({ requestSeconds: SOON_SECONDS }, (test) => embedSlowly(test, 64)),
    says: /longer than 0\.1 seconds/u,
  },
  bulkRequestSeconds: {
    at: () =>
      on({ requestSeconds: SOON_SECONDS, bulkRequestSeconds: LATE_SECONDS }, (test) => embedSlowly(test, 65)),
    over: () =>
      on({ requestSeconds: SOON_SECONDS / 2, bulkRequestSeconds: SOON_SECONDS }, (test) =>
        embedSlowly(test, 200),
      ),
    says: /longer than 0\.1 seconds/u,
  },
  requestsPerMinute: counted({ requestsPerMinute: 2 }, (test) => embed(test, 1), /requests a minute/u),
  // Three tokens each.
  tokensPerMinute: counted({ tokensPerMinute: 6 }, (test) => embed(test, 1), /tokens a minute/u),
  concurrentRequests: {
    at: () => on({ concurrentRequests: 2 }, (test) => beside(1, test)),
    over: () => on({ concurrentRequests: 2 }, (test) => beside(2, test)),
    says: /at a time/u,
  },
  quotaTokensPerDay: counted(
    { quotaTokensPerDay: 6 },
    (test) => embed(test, 1, "bound"),
    /tokens .* of a day/u,
  ),
  quotaCollections: keeping({ collections: 2 }, (test, i) => make(test, `c-${i}`), /collections/u),
  // The default one is there already.
  quotaDatabases: keeping({ databases: 3 }, (test, i) => makeDatabase(test, `d-${i}`), /databases/u),
  quotaKeys: keeping({ keys: 2 }, (test) => makeKey(test), /API keys/u),
  quotaRecords: keeping({ records: 2 }, (test, i) => add(test, `r${i}`, 10), /records/u),
  quotaBytes: keeping({ bytes: 160_000 }, (test, i) => add(test, `r${i}`, 60_000), /bytes/u),
  // Of what comes over a connection, a body waits for room before it is refused.
  bodyBytesPerTenant: holding({ perTenant: 100 }, /this tenant may take 100 bytes/u),
  bodyBytes: holding({ whole: 100 }, /this server may take 100 bytes/u),
};

function holding(bounds: Partial<ByteBudgetOptions>, says: RegExp): LimitCase {
  const charge = (bytes: number) =>
    called(() => {
      const options = { what: "request bodies", perTenant: Infinity, whole: Infinity, ...bounds };
      const budget = new ByteBudget(options);
      budget.charge("a", 60);
      budget.charge("a", bytes);
    });
  return { at: () => charge(40), over: () => charge(41), says };
}

async function on(options: Partial<AppOptions>, work: (test: TestApp) => Promise<Outcome>): Promise<Outcome> {
  const test = await startTestApp(options, { bound: BOUND });
  try {
    return await work(test);
  } finally {
    await test.close();
  }
}

/** The second of two passes, the third does not. */
function counted(
  options: Partial<AppOptions>,
  work: (test: TestApp) => Promise<Outcome>,
  says: RegExp,
): LimitCase {
  const nth = (count: number) => (test: TestApp) => last(count, () => work(test));
  return { at: () => on(options, nth(2)), over: () => on(options, nth(3)), says };
}

/** The same on an engine with quotas. */
function keeping(
  quotas: Partial<typeof KEEP>,
  work: (test: TestApp, index: number) => Promise<Outcome>,
  says: RegExp,
): LimitCase {
  const nth = async (count: number): Promise<Outcome> => {
    const dataFolder = await mkdtemp(join(tmpdir(), "sheaf-quotas-"));
    const engine = await createLocalEngine({ dataFolder, quotas: { ...KEEP, ...quotas } });
    const outcome = await on({ engine: () => engine }, (test) => last(count, (index) => work(test, index)));
    await engine.close();
    await rm(dataFolder, { recursive: true });
    return outcome;
  };
  return { at: () => nth(2), over: () => nth(3), says };
}

async function last(count: number, work: (index: number) => Promise<Outcome>): Promise<Outcome> {
  let outcome: Outcome = { status: 0, message: "" };
  for (let i = 0; i < count; i++) outcome = await work(i);
  return outcome;
}

async function ask(test: TestApp, request: string, options: Parameters<TestApp["ask"]>[1]): Promise<Outcome> {
  const { status, body } = await test.ask(request, options);
  return outcomeOf(status, body);
}

function embed(test: TestApp, texts: number, key = ROOT_KEY): Promise<Outcome> {
  const json = { texts: times(texts, () => "one two three"), instructions: "" };
  return ask(test, "POST /embed_sparse", { json, headers: BM25, key });
}

/** With the model that takes its time. */
function embedSlowly(test: TestApp, texts: number): Promise<Outcome> {
  const json = { texts: times(texts, (i) => `${i} ${LONG_TEXT}`), instructions: "" };
  return ask(test, "POST /embed", { json, headers: { "x-service-embedding-model": MINILM } });
}

function make(test: TestApp, name: string): Promise<Outcome> {
  return ask(test, `POST ${COLLECTIONS}`, { json: { name } });
}

function makeKey(test: TestApp): Promise<Outcome> {
  return ask(test, "POST /api/v2/keys", { json: { name: "k", tenant: null, scopes: ["read"] } });
}

function makeDatabase(test: TestApp, name: string): Promise<Outcome> {
  return ask(test, "POST /api/v2/tenants/default_tenant/databases", { json: { name } });
}

async function add(test: TestApp, id: string, characters: number): Promise<Outcome> {
  const json = { name: "kept", configuration: { embedding_function: null }, get_or_create: true };
  const { body } = await test.ask(`POST ${COLLECTIONS}`, { json });
  return ask(test, `POST ${COLLECTIONS}/${(body as { id: string }).id}/add`, {
    json: { ids: [id], embeddings: [[1, 2]], documents: ["x".repeat(characters)] },
  });
}

/** One request while others of the key have not sent their bodies yet. */
async function beside(others: number, test: TestApp): Promise<Outcome> {
  await test.app.http.listen({ host: "127.0.0.1", port: 0 });
  const { port } = test.app.http.server.address() as AddressInfo;
  const sockets = times(others, () => connect(port, "127.0.0.1"));
  const head = [
    "POST /embed HTTP/1.1",
    "Host: a",
    `x-service-token: ${ROOT_KEY}`,
    "Content-Length: 9",
    "",
    "",
  ];
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  for (const socket of sockets) {
    const admitted = once(test.app.http.server, "request");
    socket.write(head.join("\r\n"));
    await admitted;
  }
  const outcome = await embed(test, 1);
  for (const socket of sockets) socket.destroy();
  return outcome;
}
