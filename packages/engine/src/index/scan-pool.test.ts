import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SheafError } from "@sheaf/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { type DenseScan, scanSlices, scanWork } from "../segment/dense-scan.ts";
import { BLOCK_DOCS, BLOCK_WORDS } from "../segment/block-docs.ts";
import { type ScanPool, createScanPool } from "./scan-pool.ts";
import { type Nearest, TopK } from "../segment/top-k.ts";

const DIMENSION = 64;

/** Segments with the same few vectors over and over, so that almost every distance is a tie. */
function newScan(segments: number, k: number): DenseScan {
  const vectors = new Float32Array(new SharedArrayBuffer(4 * BLOCK_DOCS * DIMENSION));
  for (let i = 0; i < vectors.length; i++) vectors[i] = ((i >>> 6) * 31 + i) % 17;
  return {
    space: "l2",
    query: Float32Array.from({ length: DIMENSION }, (_, i) => i % 5),
    k,
    segments: Array.from({ length: segments }, (_, index) => {
      const offsets = new Float64Array(new SharedArrayBuffer(8 * BLOCK_DOCS));
      // Later segments hold older records.
      for (let row = 0; row < BLOCK_DOCS; row++) offsets[row] = (segments - index) * BLOCK_DOCS + row;
      const mask = new Uint32Array(BLOCK_WORDS).fill(0xdddd_dddd);
      return { vectors, offsets, mask, firstPosition: index * BLOCK_DOCS };
    }),
  };
}

/** Some ten seconds of work: a test would time out if it went on. */
function endlessScan(): DenseScan {
  const scan = newScan(1, 3);
  return { ...scan, segments: Array.from({ length: 30_000 }, () => scan.segments).flat() };
}

/** A scan of memory that nothing else refers to. */
function passingScan(bytes: number): DenseScan {
  const scan = newScan(1, 1);
  const vectors = new Float32Array(new SharedArrayBuffer(bytes));
  return { ...scan, segments: scan.segments.map((segment) => ({ ...segment, vectors })) };
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

function scanHere(scan: DenseScan): Nearest {
  const top = new TopK(scan.k);
  for (const slices = scanSlices(scan, top); slices.next().done !== true;);
  return top.sorted();
}

describe("ScanPool", () => {
  let pool: ScanPool | null = null;
  const newPool = (threads: number): ScanPool => {
    pool = createScanPool({ threads });
    return pool;
  };
  afterEach(() => pool?.close());

  it("finds on several threads what a scan in this thread finds", async () => {
    const scan = newScan(40, 1_000);
    expect(scanWork(scan)).toBe(40 * BLOCK_DOCS * 0.75 * DIMENSION);
    expect(await newPool(2).scan(scan)).toStrictEqual(scanHere(scan));
  });

  it("runs scans that come at once", async () => {
    const running = newPool(1);
    const scans = [newScan(9, 10), newScan(3, 5), newScan(30, 1)];
    const found = await Promise.all(scans.map((scan) => running.scan(scan)));
    expect(found).toStrictEqual(scans.map(scanHere));
  });

  it("finds nothing in nothing", async () => {
    const found = await newPool(1).scan({ ...newScan(0, 3) });
    expect(found.positions).toHaveLength(0);
  });

  it("gives an aborted scan's worker to the next one", async () => {
    const running = newPool(1);
    const warm = newScan(1, 3);
    await running.scan(warm);
    const controller = new AbortController();
    const endless = running.scan(endlessScan(), controller.signal);
    const next = running.scan(warm);
    setTimeout(() => controller.abort(new SheafError("timeout", "too slow")), 20);
    await expect(endless).rejects.toMatchObject({ code: "timeout" });
    expect(await next).toStrictEqual(scanHere(warm));
  });

  it("refuses a scan that was aborted before it began", async () => {
    const scan = newPool(1).scan(newScan(1, 1), AbortSignal.abort());
    await expect(scan).rejects.toMatchObject({ code: "cancelled" });
  });

  it("fails what is under way when it closes", async () => {
    const running = newPool(1);
    await running.scan(newScan(1, 1));
    const endless = running.scan(endlessScan());
    const [failed] = await Promise.allSettled([endless, running.close()]);
    expect(failed).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
    await expect(running.scan(newScan(1, 1))).rejects.toMatchObject({ code: "unavailable" });
  });

  it("lets go of the memory of scans that are over", async () => {
    const running = newPool(1);
    const [scans, bytes] = [24, 8 * 2 ** 20];
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < scans; i++) await running.scan(passingScan(bytes));
    // The pool is still there, and a worker may keep a little.
    await expect
      .poll(
        () => {
          collectGarbage();
          return process.memoryUsage().arrayBuffers - before;
        },
        { timeout: 30_000 },
      )
      .toBeLessThan((scans * bytes) / 3);
  });

  it("outlives a worker that dies", async () => {
    const running = newPool(1);
    const scan = newScan(2, 3);
    // No scan looks for less than one row: the worker throws.
    await expect(running.scan({ ...scan, k: -1 })).rejects.toMatchObject({ code: "unavailable" });
    expect(await running.scan(scan)).toStrictEqual(scanHere(scan));
  });
});
