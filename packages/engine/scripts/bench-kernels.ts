/**
 * Measures the dense index alone, one thread: median search times and recall@10 per filter on both data sets.
 *   npx tsx --conditions=@sheaf/source packages/engine/scripts/bench-kernels.ts [rows] [dimension] [queries]
 */
import { DenseIndex } from "../src/index/dense/dense-index.ts";
import { type DataSet, randomOf, sampler } from "../src/index/dense/testing/data-sets.ts";

const [rows = 100_000, dimension = 384, queries = 200] = process.argv.slice(2).map(Number);
const K = 10;

interface Case {
  readonly vector: Float32Array;
  readonly group: number;
}

/** An element that is there. */
function at(values: ArrayLike<number>, index: number): number {
  return values[index] ?? Number.NaN;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function maskOf(keep: (row: number) => boolean): Uint32Array {
  const mask = new Uint32Array(Math.ceil(rows / 32));
  for (let row = 0; row < rows; row++)
    if (keep(row)) mask.set([at(mask, row >>> 5) | (1 << (row & 31))], row >>> 5);
  return mask;
}

function measure(index: DenseIndex, cases: readonly Case[], mask: (c: Case) => Uint32Array | null): string {
  const times: number[] = [];
  const exactTimes: number[] = [];
  let found = 0;
  let wanted = 0;
  for (const c of cases) {
    const filter = mask(c);
    for (let warm = 0; warm < 3; warm++) index.topK(c.vector, K, filter);
    const start = performance.now();
    const { rows: near } = index.topK(c.vector, K, filter);
    const middle = performance.now();
    const truth = index.topK(c.vector, K, filter, { exact: true }).rows;
    exactTimes.push(performance.now() - middle);
    times.push(middle - start);
    wanted += truth.length;
    found += truth.filter((row) => near.includes(row)).length;
  }
  return `${median(times).toFixed(3)} ms, recall ${(found / wanted).toFixed(4)}, exact ${median(exactTimes).toFixed(2)} ms`;
}

function run(dataSet: DataSet): void {
  const source = sampler(dataSet, dimension, 1);
  const groups = new Uint16Array(rows);
  const vectors = new Float32Array(rows * dimension);
  const readVector = (row: number): Float32Array => vectors.subarray(row * dimension, (row + 1) * dimension);
  const index = new DenseIndex({ space: "cosine", dimension, readVector });
  for (let row = 0; row < rows; row++) {
    const { vector, group } = source.next();
    groups[row] = group;
    readVector(row).set(vector);
  }
  const start = performance.now();
  for (let row = 0; row < rows; row++) index.put(row, readVector(row));
  const put = performance.now();
  const cases = Array.from({ length: queries }, () => source.next());
  print(`${dataSet}: ${rows} x ${dimension}; put ${(((put - start) * 1_000) / rows).toFixed(1)} us a row`);
  print(`  unsealed      ${measure(index, cases, () => null)}`);
  let longest = 0;
  const sealing = performance.now();
  for (let more = true; more;) {
    const slice = performance.now();
    more = index.maintain();
    longest = Math.max(longest, performance.now() - slice);
  }
  const seconds = (performance.now() - sealing) / 1_000;
  print(
    `  sealing ${seconds.toFixed(2)} s, longest slice ${longest.toFixed(1)} ms; unsealed left ${index.unsealed}`,
  );
  const similarity = cases.map(({ vector }) => 1 - at(index.topK(vector, 1, null).distances, 0));
  print(`  mean top-1 cosine ${(similarity.reduce((a, b) => a + b, 0) / queries).toFixed(3)}`);
  const random = randomOf(2);
  const draws = Float64Array.from({ length: rows }, random);
  const half = maskOf((row) => at(draws, row) < 0.5);
  const twentieth = maskOf((row) => at(draws, row) < 0.05);
  const thousandth = maskOf((row) => at(draws, row) < 0.001);
  const adversarial = new Map<number, Uint32Array>();
  // 5 % of the rows, none of them of the query's own group.
  const against = ({ group }: Case): Uint32Array => {
    const known = adversarial.get(group) ?? maskOf((row) => at(draws, row) < 0.05 && groups[row] !== group);
    adversarial.set(group, known);
    return known;
  };
  print(`  all           ${measure(index, cases, () => null)}`);
  print(`  50 %          ${measure(index, cases, () => half)}`);
  print(`  5 %           ${measure(index, cases, () => twentieth)}`);
  print(`  0.1 %         ${measure(index, cases, () => thousandth)}`);
  print(`  5 % elsewhere ${measure(index, cases, against)}`);
  index.close();
}

run("clusters");
run("topics");
