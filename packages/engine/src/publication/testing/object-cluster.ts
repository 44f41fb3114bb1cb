/** A database and an object store for engines that share them, and what these say of the published indexes. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { CollectionRef } from "@sheaf/protocol";
import { expect, onTestFinished } from "vitest";
import { createLocalEngine } from "../../create-local-engine.ts";
import type { Engine } from "../../engine.ts";
import type { EngineLogEntry } from "../../engine-log.ts";
import type { EngineDatabase, EngineObjects, LocalEngineOptions } from "../../local-engine-options.ts";
import { DataFolder } from "../../storage/folder/data-folder.ts";
import { ObjectFiles } from "../../storage/objects/object-files.ts";
import { ObjectStore } from "../../storage/objects/object-store.ts";
import { PostgresDatabase, type PostgresSettings } from "../../storage/postgres/postgres-database.ts";
import { PostgresManifests } from "../../storage/postgres/postgres-manifests.ts";
import { makeCollection, readAll, write } from "../../testing/engine-fixtures.ts";
import { INDEX, ROWS, nearest, row } from "../../testing/indexed-folder.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { PrefixOwner } from "../prefix-owner.ts";
import { PublishedIndexes } from "../published-indexes.ts";

/** Whatever is new is published at once. */
export const EAGER = { operations: 1, afterMs: 0, retryMs: 50, sweepMs: 1e9 };

const QUIET_MS = 1_500;

export interface ClusterOptions extends Pick<EngineDatabase, "checkpointAfterBytes"> {
  readonly publication?: EngineObjects["publication"];
}

type Rows = readonly Readonly<Record<string, unknown>>[];

export interface LogRows {
  readonly head: Rows;
  readonly log: Rows;
  readonly batches: Rows;
}

export class ObjectCluster {
  readonly database: EngineDatabase;
  readonly objects: EngineObjects;
  readonly store: ObjectStore;
  readonly log: EngineLogEntry[] = [];
  readonly manifests: PostgresManifests;
  readonly #sql: PostgresDatabase;
  readonly #open = new Set<Engine>();

  constructor(
    database: PostgresSettings,
    objects: EngineObjects,
    { publication, ...more }: ClusterOptions = {},
  ) {
    this.database = { ...database, ...more };
    const settings = { ...objects, limits: { attempts: 2, ...objects.limits } };
    this.objects = { ...settings, publication: { ...EAGER, ...publication } };
    this.store = new ObjectStore(settings);
    this.#sql = new PostgresDatabase(database);
    this.manifests = new PostgresManifests(this.#sql);
    onTestFinished(() => this.#sql.close());
  }

  async open(
    dataFolder = temporaryFolder(),
    role: EngineDatabase["role"] = "all",
    { lookMs, ...more }: Pick<EngineDatabase, "lookMs"> & Pick<LocalEngineOptions, "diskUsage"> = {},
  ): Promise<Engine> {
    const { objects } = this;
    const database = { ...this.database, role, ...(lookMs !== undefined && { lookMs }) };
    const log = (entry: EngineLogEntry): void => void this.log.push(entry);
    const engine = await createLocalEngine({ dataFolder, database, objects, index: INDEX, log, ...more });
    this.#open.add(engine);
    onTestFinished(() => this.close(engine));
    return engine;
  }

  /** Once. */
  async close(engine: Engine): Promise<void> {
    if (this.#open.delete(engine)) await engine.close();
  }

  /** A collection of which every sealed segment is published. */
  async published(engine: Engine): Promise<CollectionRef> {
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", ...Array.from({ length: ROWS }, (_, i) => row(i)));
    await settled(this, ref, ROWS - INDEX.sizes.sizes.mutableRows);
    // Small segments are merged, and published again.
    for (let before = -1, n = 0; n !== before; await sleep(QUIET_MS))
      [before, n] = [n, (await this.manifests.read(ref.id))?.n ?? 0];
    return ref;
  }

  async covers({ id }: CollectionRef): Promise<number> {
    return (await this.manifests.read(id))?.manifest?.covers ?? 0;
  }

  /** Names of the segments that are published for a collection. */
  async segments({ id }: CollectionRef): Promise<readonly string[]> {
    const found = await this.manifests.read(id);
    return found?.manifest?.segments.map(({ name }) => name).toSorted() ?? [];
  }

  async rows(table: string, where = "true"): Promise<Rows> {
    return this.#sql.read(`select * from ${this.database.schema}.${table} where ${where}`);
  }

  async change(statement: (schema: string) => string): Promise<void> {
    await this.#sql.change(statement(this.database.schema), []);
  }

  owner(manifests = this.manifests): PrefixOwner {
    return new PrefixOwner({ store: this.store, manifests, place: `s3://bucket/${this.objects.prefix}` });
  }

  /** Removes what nothing refers to at this moment; `keepMs`: but for records, in files that were once referred to. */
  async sweep({ keepMs = 0, listMs = 1e9 } = {}): Promise<void> {
    const indexes = new PublishedIndexes({
      ...{ objects: new ObjectFiles(this.store, null), manifests: this.manifests, owner: this.owner() },
      limits: { graceMs: 0, keepMs, sweepMs: 1e9, listMs },
      onProblem: (error) => expect.fail(String(error)),
    });
    try {
      await indexes.sweep();
    } finally {
      await indexes.close();
    }
  }

  /** Has the database say of a collection's log what it said when these rows were read. */
  async setBack({ id }: CollectionRef, { head, log, batches }: LogRows): Promise<void> {
    const tables = { log_head: head, log, log_batch: batches };
    for (const [table, rows] of Object.entries(tables)) {
      await this.change((schema) => `delete from ${schema}.${table} where collection = '${id}'`);
      for (const row of rows) {
        const columns = Object.keys(row);
        const places = columns.map((_, i) => `$${i + 1}`).join();
        await this.#sql.change(
          `insert into ${this.database.schema}.${table} (${columns.join()}) values (${places})`,
          Object.values(row),
        );
      }
    }
    const refs = `${this.database.schema}.segment_ref`;
    await this.#sql.change(`update ${refs} set segment = $1 where collection = $2`, [
      head[0]!["checkpoint"],
      `${id}/records`,
    ]);
  }

  async object(name: string): Promise<Buffer> {
    return (await this.store.get(name, "0-"))!.bytes;
  }

  async replaceObject(name: string, bytes: Buffer): Promise<void> {
    await this.store.put(name, bytes, createHash("md5").update(bytes).digest());
  }

  errors(): readonly string[] {
    return this.log.flatMap(({ level, error }) => (level === "error" ? [error ?? ""] : []));
  }
}

/** Once what is published covers so many operations. */
export async function settled(cluster: ObjectCluster, ref: CollectionRef, covers: number): Promise<void> {
  await expect.poll(() => cluster.covers(ref)).toBeGreaterThanOrEqual(covers);
}

export function indexOf(dataFolder: string, { id }: CollectionRef): string {
  return new DataFolder(dataFolder).collectionIndex(id);
}

export function segmentsIn(folder: string): readonly string[] {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith(".seg"))
        .toSorted()
    : [];
}

export function flipped(bytes: Uint8Array): Buffer {
  const changed = Buffer.from(bytes);
  changed[changed.length >> 1]! ^= 0x10;
  return changed;
}

export async function expectSame(one: Engine, two: Engine, ref: CollectionRef): Promise<void> {
  expect(await readAll(two, ref)).toEqual(await readAll(one, ref));
  for (const i of [0, 17, 150, ROWS]) expect(await nearest(two, ref, i)).toEqual(await nearest(one, ref, i));
}

/** Once all collections are dropped. */
export async function expectNothingLeft(cluster: ObjectCluster): Promise<void> {
  await expect.poll(() => cluster.rows("segment_ref")).toEqual([]);
  // An index may still be on its way into the store: its server finds only then that the collection is gone.
  const left = async (): Promise<readonly string[]> => {
    await cluster.sweep();
    return cluster.store.list("");
  };
  await expect.poll(left).toEqual([]);
}
