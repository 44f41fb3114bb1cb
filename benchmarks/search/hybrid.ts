/** What the peer's local server does not have: sparse vectors beside dense ones, searches over both, groups. */
import { rm } from "node:fs/promises";
import { temporaryFolder } from "../../test/e2e/testing/served-sheaf.ts";
import { ownMebibytes } from "../measure/process-tree.ts";
import { launchSheaf } from "./servers/launch-sheaf.ts";
import { type Loading, loadSet } from "./workload/load-records.ts";
import { REPEATS, type RowFigures, measureRows } from "./measured-row.ts";
import { TERMS_KEY } from "./workload/requests.ts";
import type { SearchSet } from "./workload/search-set.ts";
import { COLLECTION, findCollection } from "./servers/server-under-test.ts";
import type { TableRow } from "./report/table-rows.ts";

export interface HybridFigures {
  readonly loading: Loading;
  readonly latency: Readonly<Record<string, RowFigures>>;
  /** MiB after the queries. */
  readonly memory: number;
}

const SCHEMA = {
  defaults: {},
  keys: {
    "#embedding": { float_list: { vector_index: { enabled: true, config: { space: "cosine" } } } },
    [TERMS_KEY]: { sparse_vector: { sparse_vector_index: { enabled: true, config: { bm25: false } } } },
  },
};

export async function measureHybrid(set: SearchSet, rows: readonly TableRow[]): Promise<HybridFigures> {
  const folder = await temporaryFolder();
  const server = await launchSheaf(folder);
  try {
    const loading = await loadSet(server, set, { schema: SCHEMA, form: { terms: true } });
    const path = await findCollection(server.client, COLLECTION);
    // In turns, so that the rows can be held against each other.
    const latency = await measureRows(
      rows.map((row) => {
        const made = row.make(set);
        const requests = made.bodies.length;
        const target = {
          contender: "Sheaf",
          client: server.client,
          path: `${path}${row.path}`,
          requests,
          repeats: REPEATS,
        } as const;
        return { id: row.id, row: made, targets: [target] };
      }),
    );
    return { loading, latency, memory: await ownMebibytes(server.pid) };
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
