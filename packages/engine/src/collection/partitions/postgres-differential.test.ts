/**
 * Collections in 1, 2 and 5 partitions on PostgreSQL against the oracle: random batches and random searches, through two nodes
 * and a gateway that asks them. One of the nodes has all records of what it writes, the other one none. `SHEAF_DIFFERENTIAL_SEED` repeats a run.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type CollectionRef,
  type CommitOperation,
  type JsonObject,
  indexPlan,
  parseCreateCollection,
} from "@sheaf/protocol";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ClusterEngine } from "../../cluster/cluster-engine.ts";
import { AskingNodes } from "../../cluster/testing/asking-nodes.ts";
import { type Node, gatewayOf, nodeOf } from "../../cluster/testing/test-nodes.ts";
import { createLocalEngine } from "../../create-local-engine.ts";
import type { Engine } from "../../engine.ts";
import { type Write, applyWrites, severalSearches, wheres, writes } from "../../query/testing/arbitraries.ts";
import { oracleSearch, oracleSelect } from "../../query/testing/oracle.ts";
import { TestCollection } from "../../query/testing/test-collection.ts";
import { PostgresServer } from "../../storage/postgres/testing/postgres-server.ts";
import { AT, listsOf } from "../../testing/engine-fixtures.ts";

const DIMENSION = 3;
const SEARCHES = 8;
const RUNS = 4;
const SEED = Number(process.env["SHEAF_DIFFERENTIAL_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
console.log(`partitions on a database: SHEAF_DIFFERENTIAL_SEED=${SEED}`);

const root = mkdtempSync(join(tmpdir(), "sheaf-partitions-"));
let server: PostgresServer;
let engines: readonly Engine[] = [];
let nodes: readonly Node[] = [];
let gateway: ClusterEngine;
const asking = new AskingNodes();

beforeAll(async () => {
  server = await PostgresServer.start();
  const database = server.settings();
  const opened = [undefined, asking.open().ask].map((askRecords, i) =>
    createLocalEngine({ dataFolder: join(root, String(i)), database, askRecords }),
  );
  engines = await Promise.all(opened);
  nodes = await Promise.all(engines.map(nodeOf));
  asking.know(nodes);
  gateway = await gatewayOf(nodes, 1);
});
afterAll(async () => {
  await gateway?.close();
  for (const engine of engines) await engine.close();
  await asking.close();
  for (const { listener } of nodes) await listener.close();
  await server?.close();
  rmSync(root, { recursive: true, force: true });
});

const bm25 = { type: "known", name: "sheaf", config: { model: "sheaf/bm25", statistics: "collection" } };

function sparse(config: JsonObject): JsonObject {
  return { sparse_vector: { sparse_vector_index: { enabled: true, config } } };
}

async function makeCollection(partitions: number): Promise<CollectionRef> {
  const schema = {
    partitions,
    keys: {
      idf: sparse({ bm25: true }),
      plain: sparse({}),
      terms: sparse({ bm25: true, embedding_function: bm25 }),
    },
  };
  const { id } = await gateway.createCollection(
    parseCreateCollection({ name: `c-${randomUUID()}`, schema }, AT),
  );
  return { ...AT, id };
}

/** What makes the same of an engine's collection. One that is there is removed first: a put replaces. */
function operationsOf(list: readonly Write[]): readonly CommitOperation[] {
  return list.flatMap((one): readonly CommitOperation[] => {
    const removal = { kind: "delete", ids: [one.id] } as const;
    if (one.type === "remove") return [removal];
    return [removal, { kind: "add", records: [{ id: one.id, ...one.content }] }];
  });
}

/** Whose places are those of an engine that was told to remove each record before it is put. */
class ReplacingCollection extends TestCollection {
  override put(...[id, content]: Parameters<TestCollection["put"]>): void {
    this.remove(id);
    super.put(id, content);
  }
}

it.each([1, 2, 5])(
  "searches over %i partitions answer as the oracle",
  { timeout: 600_000 },
  async (partitions) => {
    const batches = fc.array(fc.tuple(writes(DIMENSION), severalSearches(DIMENSION, SEARCHES), wheres), {
      minLength: 1,
      maxLength: 3,
    });
    await fc.assert(
      fc.asyncProperty(batches, async (rounds) => {
        const ref = await makeCollection(partitions);
        const plan = indexPlan((await gateway.getCollection(ref)).schema);
        const expected = new ReplacingCollection(plan);
        for (const [list, searches, where] of rounds) {
          applyWrites(expected, list);
          const operations = operationsOf(list);
          if (operations.length > 0) await gateway.commit(ref, { token: null, readIds: [], operations });
          const request = { searches, readLevel: "index_and_wal" } as const;
          for (const engine of [gateway, ...engines]) {
            const found = await listsOf(engine, ref, engine.search(ref, request));
            expect(found).toStrictEqual(searches.map((one) => oracleSearch(expected, one)));
          }
          const selected = oracleSelect(expected, { ids: null, where }).length;
          expect(await gateway.count(ref, { ids: null, where })).toBe(selected);
        }
      }),
      { seed: SEED, numRuns: RUNS },
    );
  },
);
