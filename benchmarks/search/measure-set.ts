/** Measures all of one set: first beside the peer, then what only Sheaf does. */
import { ownMebibytes } from "../measure/process-tree.ts";
import { type Contestants, withContestants } from "./servers/contestants.ts";
import { folderMebibytes } from "./servers/folder-size.ts";
import { floorPath } from "./servers/floor-server.ts";
import { succeeded } from "./http-client.ts";
import { type HybridFigures, measureHybrid } from "./hybrid.ts";
import type { ChromaSource } from "./servers/launch-chroma.ts";
import { loadRecords } from "./workload/load-records.ts";
import { REPEATS, type Row, type RowFigures, type Target, measureRow } from "./measured-row.ts";
import type { BenchmarkOptions } from "./options.ts";
import type { SearchSet } from "./workload/search-set.ts";
import { CONFIGURATION, createCollection } from "./servers/server-under-test.ts";
import type { Cells, SetFigures } from "./report/set-figures.ts";
import { HYBRID_ROWS, QUERY_ROWS, THROUGHPUT_ROWS, type TableRow, UPSERT_ROW } from "./report/table-rows.ts";
import { measureThroughput } from "./throughput.ts";

/** Records of the writes that are measured apart from loading. */
const SAMPLE = 20_000;
/** `{}`, the answer to a write. */
const WRITE_ANSWER_BYTES = 2;

type Chroma = Extract<ChromaSource, { readonly version: string }>;

export async function measureSet(
  set: SearchSet,
  chroma: Chroma | null,
  { only }: Pick<BenchmarkOptions, "only">,
): Promise<SetFigures> {
  const wanted = (id: string): boolean => only === null || only.has(id);
  const compared = await withContestants(set, chroma, (contestants) => compare(set, contestants, wanted));
  const hybrid: HybridFigures | null = HYBRID_ROWS.some(({ id }) => wanted(id))
    ? await measureHybrid(
        set,
        HYBRID_ROWS.filter(({ id }) => wanted(id)),
      )
    : null;
  return {
    set: set.name,
    rows: set.rows,
    dimension: set.dimension,
    topCosine: set.truth.topCosine,
    ...compared,
    latency: { ...compared.latency, ...hybrid?.latency },
    insertSparse: hybrid?.loading.recordsPerSecond ?? null,
    memorySparse: hybrid?.memory ?? null,
  };
}

type Compared = Omit<
  SetFigures,
  "set" | "rows" | "dimension" | "topCosine" | "insertSparse" | "memorySparse"
>;

async function compare(
  set: SearchSet,
  contestants: Contestants,
  wanted: (id: string) => boolean,
): Promise<Compared> {
  const { sheaf, chroma } = contestants;
  const both = (sheafs: number, chromas: number | undefined): Cells => ({
    Sheaf: sheafs,
    ...(chromas === undefined ? {} : { Chroma: chromas }),
  });
  const latency: Record<string, RowFigures> = {};
  const throughput: Record<string, Cells> = {};
  for (const row of QUERY_ROWS.filter(({ id }) => wanted(id))) {
    const made = row.make(set);
    latency[row.id] = await measureRow(made, await targetsOf(row, made, contestants));
  }
  for (const row of THROUGHPUT_ROWS.filter(({ id }) => wanted("qps") || wanted(`qps ${id}`))) {
    const made = row.make(set);
    throughput[row.id] = await measureThroughput(made, await targetsOf(row, made, contestants));
  }
  const memoryAfterQueries = both(
    await ownMebibytes(sheaf.server.pid),
    chroma === null ? undefined : await ownMebibytes(chroma.server.pid),
  );
  const disk = both(
    await folderMebibytes(sheaf.server.dataFolder),
    chroma === null ? undefined : await folderMebibytes(chroma.server.dataFolder),
  );
  if (wanted(UPSERT_ROW.id)) {
    const made = UPSERT_ROW.make(set);
    latency[UPSERT_ROW.id] = await measureRow(made, await targetsOf(UPSERT_ROW, made, contestants));
  }
  return {
    latency,
    throughput,
    memoryAfterQueries,
    disk,
    insert: {
      ...both(sheaf.loading.recordsPerSecond, chroma?.loading.recordsPerSecond),
      floor: await floorInsert(set, contestants),
    },
    insertBase64: wanted("base64") ? await insertBase64(set, contestants) : null,
    settle: both(sheaf.loading.settleSeconds, chroma?.loading.settleSeconds),
    memoryAfterLoad: both(sheaf.loading.mebibytes, chroma?.loading.mebibytes),
    restart: both(sheaf.restartMs, chroma?.restartMs),
  };
}

/** The bare servers answer with as many bytes as Sheaf. */
async function targetsOf(
  row: TableRow,
  { bodies }: Row,
  { sheaf, chroma, floor, pair }: Contestants,
): Promise<readonly Target[]> {
  const path = `${sheaf.path}${row.path}`;
  const { client } = sheaf.server;
  const answer = succeeded(await client.post(path, bodies[0] ?? Buffer.alloc(0)));
  const all = { requests: bodies.length, repeats: REPEATS };
  const bare = { path: floorPath(answer.byteLength), ...all };
  const targets: Target[] = [
    { contender: "floor", client: floor.client, ...bare },
    { contender: "pair", client: pair.client, ...bare },
    { contender: "Sheaf", client, path, ...all },
  ];
  if (chroma === null) return targets;
  const requests = Math.min(row.chromaRequests, bodies.length);
  const asked = { client: chroma.server.client, path: `${chroma.path}${row.path}`, requests };
  return [...targets, { contender: "Chroma", ...asked }];
}

function floorInsert(set: SearchSet, { floor }: Contestants): Promise<number> {
  const rows = Math.min(SAMPLE, set.rows);
  return loadRecords(floor, floorPath(WRITE_ANSWER_BYTES), set, { rows });
}

async function insertBase64(set: SearchSet, { sheaf }: Contestants): Promise<number> {
  const body = { name: "base64", configuration: CONFIGURATION };
  const path = await createCollection(sheaf.server.client, body);
  const rows = Math.min(SAMPLE, set.rows);
  return loadRecords(sheaf.server, `${path}/add`, set, { rows, base64: true });
}
