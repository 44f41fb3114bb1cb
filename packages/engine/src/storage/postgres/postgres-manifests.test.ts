import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LogHead } from "../log/commit-log.ts";
import { firstHead } from "../log/commit-log.ts";
import type { Manifest } from "../files/manifest.ts";
import { PostgresCommitLog } from "./postgres-commit-log.ts";
import { PostgresDatabase, type PostgresSettings } from "./postgres-database.ts";
import { PostgresManifests, type PublicationOutcome } from "./postgres-manifests.ts";
import { PostgresServer } from "./testing/postgres-server.ts";

const EPOCH = randomUUID();
const HOUR_MS = 3_600_000;

let server: PostgresServer;
let settings: PostgresSettings;
let database: PostgresDatabase;
let log: PostgresCommitLog;
let manifests: PostgresManifests;
let state: LogHead;

beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server?.close());
beforeEach(async () => {
  settings = server.settings();
  database = new PostgresDatabase(settings);
  log = new PostgresCommitLog(database);
  manifests = new PostgresManifests(database);
  await log.create("c", { epoch: EPOCH, state: new Uint8Array(0) });
  const parts = [{ partition: 0, body: Buffer.from("body") }];
  const batches = [{ id: "b", sequence: 5, parts }];
  await log.append("c", firstHead(EPOCH), { batches, state: new Uint8Array(0) });
  state = { epoch: EPOCH, sequence: 5, batch: "b" };
  return () => database.close();
});

function manifestOf(...names: readonly string[]): Manifest {
  return {
    ...{ n: 0, lineage: EPOCH, covers: 5, space: "l2", sparse: [], kinds: [], deadRows: null },
    head: { sequence: 5, nextOffset: 5, dimension: 2 },
    segments: names.map((name) => ({ name, crc: 1, rows: 32 })),
  };
}

interface Published {
  readonly after?: number | null;
  readonly token?: string;
  readonly collection?: string;
}

function publish(names: readonly string[], options: Published = {}): Promise<PublicationOutcome> {
  const { after = null, token = randomUUID(), collection = "c" } = options;
  return manifests.publish({ collection, after, token, state, manifest: manifestOf(...names) });
}

async function stage(...names: readonly string[]): Promise<readonly string[]> {
  return Promise.all(names.map((name) => manifests.stage(name, 10)));
}

async function states(): Promise<Readonly<Record<string, unknown>>> {
  const rows = await database.read(`select id, state from ${settings.schema}.segment order by id`);
  return Object.fromEntries(rows.map((row) => [String(row["id"]), row["state"]]));
}

/** As if nothing had happened to these files for two hours. */
async function age(): Promise<void> {
  await database.change(`update ${settings.schema}.segment set at = at - interval '2 hours'`, []);
}

describe("manifests in PostgreSQL", () => {
  it("are replaced by compare-and-set, and a publication that is asked for twice is one", async () => {
    await stage("a.seg", "b.seg");
    const [one, two] = await Promise.all([publish(["a.seg"]), publish(["b.seg"])]);
    expect([one, two].toSorted()).toEqual(["done", "moved"]);
    const { n } = (await manifests.read("c"))!;
    expect(await publish(["a.seg", "b.seg"], { after: n, token: "mine" })).toBe("done");
    expect(await publish(["a.seg", "b.seg"], { after: n, token: "mine" })).toBe("done");
    expect(await publish(["a.seg"], { after: n })).toBe("moved");
    expect(await manifests.read("c")).toMatchObject({ n: n + 1, epoch: EPOCH, token: "mine" });
  });

  it("are of a state of the log, and of files that were staged", async () => {
    expect(await publish(["never.seg"])).toBe("spent");
    expect(await manifests.read("c")).toBeNull();
    await stage("a.seg");
    expect(await publish(["a.seg"], { collection: "other" })).toBe("gone");
    state = { ...state, batch: "lost" };
    expect(await publish(["a.seg"])).toBe("gone");
    state = { epoch: randomUUID(), sequence: 5, batch: "b" };
    expect(await publish(["a.seg"])).toBe("gone");
    expect(await states()).toEqual({ "a.seg": "staged" });
  });

  it("keep the files that they refer to, and give up the others after a while", async () => {
    await stage("a.seg", "b.seg", "left.seg");
    await publish(["a.seg", "b.seg"]);
    await age();
    await stage("new.seg");
    await publish(["b.seg", "new.seg"], { after: 1 });
    await manifests.doom(HOUR_MS, HOUR_MS);
    // The second one has lost its reference just now.
    expect(await states()).toEqual({
      ...{ "a.seg": "live", "b.seg": "live", "new.seg": "live", "left.seg": "doomed" },
    });
    await age();
    await manifests.doom(HOUR_MS, HOUR_MS);
    expect((await manifests.doomed()).toSorted()).toEqual(["a.seg", "left.seg"]);
    await manifests.removed("left.seg");
    expect(await manifests.doomed()).toEqual(["a.seg"]);
    expect(await stage("a.seg", "left.seg", "b.seg")).toEqual(["spent", "spent", "live"]);
    expect(await publish(["a.seg"], { after: 2 })).toBe("spent");
  });

  it("are not hurt by a sweep that has looked before they were published", async () => {
    const { manifests: sql } = database.statements;
    await stage("a.seg");
    await age();
    let swept: Promise<void> | undefined;
    await database.transact(async ({ query }) => {
      await query(sql.revive, [["a.seg"]]);
      await query(sql.addRefs, ["c", ["a.seg"]]);
      swept = manifests.doom(HOUR_MS, HOUR_MS);
      await waiting();
      return { commit: true, value: null };
    });
    await swept;
    expect(await states()).toEqual({ "a.seg": "live" });
  });

  it("go with their collection, also where nobody has dropped them", async () => {
    await stage("a.seg", "b.seg");
    await publish(["a.seg", "b.seg"]);
    await log.copy("c", { collection: "forked", epoch: randomUUID() });
    expect((await manifests.read("forked"))?.manifest?.segments).toHaveLength(2);
    await log.drop("c");
    expect(await manifests.read("c")).toBeNull();
    await age();
    await manifests.doom(HOUR_MS, HOUR_MS);
    expect(await states()).toEqual({ "a.seg": "live", "b.seg": "live" });
    await database.change(`delete from ${settings.schema}.log_head`, []);
    await manifests.doom(HOUR_MS, HOUR_MS);
    expect(await manifests.read("forked")).toBeNull();
    await age();
    await manifests.doom(HOUR_MS, HOUR_MS);
    expect(await states()).toEqual({ "a.seg": "doomed", "b.seg": "doomed" });
  });
});

async function waiting(): Promise<void> {
  const other = new PostgresDatabase(settings);
  try {
    const blocked = "select 1 from pg_stat_activity where wait_event_type = 'Lock'";
    await expect.poll(() => other.read(blocked)).not.toEqual([]);
  } finally {
    await other.close();
  }
}
