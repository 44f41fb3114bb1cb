import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  type CollectionRef,
  type CommitResult,
  type ReadToken,
  parseCreateCollection,
} from "@sheaf/protocol";
import { createLocalEngine } from "../create-local-engine.ts";
import type { Engine } from "../engine.ts";
import { PostgresDatabase } from "../storage/postgres/postgres-database.ts";
import { PostgresServer } from "../storage/postgres/testing/postgres-server.ts";
import { AT, idsOf, record, write } from "../testing/engine-fixtures.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server?.close());

async function open(limits: { readonly checkpointAfterBytes?: number } = {}) {
  const database = { ...server.settings(), ...limits };
  const engines: Engine[] = [];
  for (let i = 0; i < 2; i++) {
    const engine = await createLocalEngine({ dataFolder: temporaryFolder(), database });
    onTestFinished(() => engine.close());
    engines.push(engine);
  }
  return { database, engines: engines as [Engine, Engine] };
}

async function collectionOf(engine: Engine, partitions: number, name: string): Promise<CollectionRef> {
  const schema = partitions === 1 ? {} : { schema: { partitions } };
  const { id } = await engine.createCollection(parseCreateCollection({ name, ...schema }, AT));
  return { ...AT, id };
}

function count(engine: Engine, ref: CollectionRef, token: ReadToken): Promise<CommitResult> {
  const operations = [{ kind: "upsert" as const, records: [record("counter", { document: "counted" })] }];
  return engine.commit(ref, { token, readIds: ["counter"], operations });
}

/** What a call comes to once the database is there again. */
async function again<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if ((error as { code?: string }).code !== "unavailable") throw error;
    }
  }
}

describe.each([1, 3])("a read token, of a collection in %i partitions", (partitions) => {
  it("is stale for good once the database was set back to before its state, whatever comes after", async () => {
    const { engines } = await open();
    const [one, two] = engines;
    const ref = await collectionOf(one, partitions, "set-back");
    await write(one, ref, "add", record("counter", { document: "0" }));
    const kept = await one.readToken(ref);
    await server.keep();
    for (let n = 0; n < 3; n++) await again(() => write(two, ref, "upsert", record("counter")));
    const lost = await one.readToken(ref);
    await server.rollBack();
    expect(await again(() => idsOf(one, ref))).toEqual(["counter"]);
    const outcomes: unknown[] = [];
    for (let n = 0; n < 5; n++) {
      for (const engine of engines)
        outcomes.push(await count(engine, ref, lost).catch(({ code }: { code: string }) => code));
      await write(two, ref, "upsert", record(n === 0 ? "counter" : `other ${n}`));
    }
    expect(outcomes).toEqual(Array(outcomes.length).fill("stale_read"));
    // That of a state which is still one of the past says what it always did.
    await expect(count(one, ref, kept)).rejects.toMatchObject({ code: "conditional_conflict" });
    const now = await two.readToken(ref);
    await write(one, ref, "upsert", record("another"));
    expect(await count(one, ref, now)).toMatchObject({ recordCount: 1 });
  });

  it("holds on every server, and while the log is trimmed beyond its state", async () => {
    const { database, engines } = await open({ checkpointAfterBytes: 20_000 });
    const [one, two] = engines;
    const ref = await collectionOf(one, partitions, "trimmed");
    await write(one, ref, "add", record("counter"));
    await write(one, ref, "add", record("another"));
    const token = await two.readToken(ref);
    const sql = new PostgresDatabase(database);
    onTestFinished(() => sql.close());
    const trimmed = async (): Promise<number> => {
      const query = `select trimmed_seq from ${database.schema}.log_head where collection = $1`;
      return Number((await sql.read(query, [ref.id]))[0]?.["trimmed_seq"]);
    };
    for (let n = 0; (await trimmed()) <= 2; n++)
      await write(one, ref, "add", record(`r${n}`, { document: "x".repeat(2_000) }));
    expect(await count(one, ref, token)).toMatchObject({ recordCount: 1 });
    await expect(count(one, ref, token)).rejects.toMatchObject({ code: "conditional_conflict" });
  });
});
