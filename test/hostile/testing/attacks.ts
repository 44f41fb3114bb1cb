/**
 * What a hostile tenant, or somebody without a key, may send to keep a server busy, for `npm run bench:fair`: how long
 * another tenant waits meanwhile. What becomes of the requests themselves is what the tests beside this folder look at.
 */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import {
  SLOW_PATTERN,
  documentSearches,
  integerWrite,
  listSearches,
  manyMembers,
} from "./attack-requests.ts";
import { MINILM } from "./bystander.ts";
import { type HeavyWork, type MakeWork, documentCollection, shortCollection, status } from "./heavy-work.ts";
import type { Tenant } from "./tenant.ts";

const HELD_MS = 3_000;
const BODY_BYTES = 60 * 1024 * 1024;
const MIB = 1024 * 1024;

/** By name. */
export const ATTACKS: Readonly<Record<string, MakeWork>> = {
  "selects of documents": documentSelects,
  "unread replies": unreadReplies,
  "writes of many integers": integerWrites,
  "objects of many keys": manyKeys,
  "long lists of $in": longLists,
  "slow regular expressions": slowPatterns,
  "large regular expressions": largePatterns,
  "bodies without a key": bodiesWithoutKey,
  "unfinished headers": unfinishedHeaders,
};

function attack(callers: number, once: HeavyWork["once"], prepare?: HeavyWork["prepare"]): HeavyWork {
  return { callers, once, isAttack: true, prepare: prepare ?? (() => Promise.resolve()) };
}

/** 3 KB that ask for 5.6 GB. */
function documentSelects(tenant: Tenant): HeavyWork {
  let path = "";
  const body = documentSearches();
  return attack(
    2,
    (_call, signal) => status(tenant, `${path}/search`, body, { signal }),
    async () => {
      path = await documentCollection(tenant, 14, 4 * MIB);
    },
  );
}

function unreadReplies(tenant: Tenant): HeavyWork {
  let path = "";
  return attack(
    100,
    async (_call, signal) => {
      const reply = await tenant.send(`${path}/get`, { include: ["documents"] }, { signal });
      await sleep(HELD_MS);
      await reply.body?.cancel();
      return reply.status;
    },
    async () => {
      path = await documentCollection(tenant, 14, 4 * MIB);
    },
  );
}

function integerWrites(tenant: Tenant): HeavyWork {
  let path = "";
  const body = integerWrite();
  return attack(
    5,
    (_call, signal) => status(tenant, `${path}/upsert`, body, { signal }),
    async () => {
      path = await tenant.createCollection("integers", { get_or_create: true });
    },
  );
}

function manyKeys(tenant: Tenant): HeavyWork {
  return onShort(tenant, 1, "get", `{"where":{${manyMembers()}}}`);
}

/** 100 searches x 100,000 values. */
function longLists(tenant: Tenant): HeavyWork {
  return onShort(tenant, 1, "search", listSearches("number", 0, `"limit":{"limit":1}`));
}

function slowPatterns(tenant: Tenant): HeavyWork {
  let path = "";
  const body = { where_document: { $regex: SLOW_PATTERN }, include: [] };
  return attack(
    4,
    (_call, signal) => status(tenant, `${path}/get`, body, { signal }),
    async () => {
      path = await tenant.createCollection("slow", { get_or_create: true });
      const documents = ["a".repeat(100_000)];
      await tenant.expect(200, `${path}/upsert`, { ids: ["r"], embeddings: [[1]], documents });
    },
  );
}

function largePatterns(tenant: Tenant): HeavyWork {
  const $or = Array.from({ length: 64 }, (_, i) => ({ $regex: `\\w{${120 + i}}` }));
  return onShort(tenant, 2, "get", JSON.stringify({ where_document: { $or }, include: [] }));
}

function onShort(tenant: Tenant, callers: number, operation: string, body: string): HeavyWork {
  let path = "";
  return attack(
    callers,
    (_call, signal) => status(tenant, `${path}/${operation}`, body, { signal }),
    async () => {
      path = await shortCollection(tenant);
    },
  );
}

function bodiesWithoutKey(tenant: Tenant): HeavyWork {
  const body = new Uint8Array(BODY_BYTES).fill(0x20);
  const headers = { "x-service-token": "", "x-service-embedding-model": MINILM };
  return attack(10, (_call, signal) => status(tenant, "/embed", body, { headers, signal }));
}

function unfinishedHeaders(tenant: Tenant): HeavyWork {
  const { hostname, port } = new URL(tenant.url);
  return attack(200, async () => {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    socket.write("POST /embed HTTP/1.1\r\nHost: sheaf\r\nX-Slow: ");
    await sleep(HELD_MS);
    socket.destroy();
    return 408;
  });
}
