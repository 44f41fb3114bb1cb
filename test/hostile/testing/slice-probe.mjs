/**
 * Preloaded into the processes of a server under test: notes how long each turn of the main thread's event loop keeps
 * the processor. That is the thread's own processor time, so whatever else runs on the machine does not count. Beside it
 * stands how much of the turn V8 collected garbage, which no code can cut into slices.
 *
 * An immediate that does not keep the loop alive runs once in every turn and wakes nobody. Node has no clock of a
 * thread's processor time, but its WASI has one.
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { PerformanceObserver, performance } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";
import { WASI } from "node:wasi";

/** Shorter turns are not noted. */
const NOTED_MS = 5;
/** Collections are heard of somewhat later. */
const NOTED_AFTER_MS = 100;
const KEPT_COLLECTIONS = 1_000;
const THREAD_CPU_TIME = 3;
/** A module that exports a page of memory, and nothing else. */
const MEMORY_MODULE = Uint8Array.of(
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  ...[0x05, 0x03, 0x01, 0x00, 0x01],
  ...[0x07, 0x0a, 0x01, 0x06, 0x6d, 0x65, 0x6d, 0x6f, 0x72, 0x79, 0x02, 0x00],
);

const folder = process.env["SLICE_FOLDER"];
const script = process.argv[1] ?? "";
const name = script.includes("engine-host") ? "host" : script.includes("sheaf.mjs") ? "gateway" : null;
if (isMainThread && folder !== undefined && name !== null) watch(join(folder, name));

function watch(file) {
  const now = threadClock();
  const collections = [];
  new PerformanceObserver((heard) => {
    for (const { startTime, duration } of heard.getEntries())
      collections.push({ from: startTime, to: startTime + duration });
    collections.splice(0, collections.length - KEPT_COLLECTIONS);
  }).observe({ entryTypes: ["gc"] });
  const note = (at, spent, from, to) => {
    let collected = 0;
    for (const one of collections) collected += Math.max(0, Math.min(one.to, to) - Math.max(one.from, from));
    appendFileSync(file, `${at} ${spent.toFixed(1)} ${Math.min(collected, spent).toFixed(1)}\n`);
  };
  let before = now();
  let from = performance.now();
  const turn = () => {
    const spent = now() - before;
    if (spent >= NOTED_MS)
      setTimeout(note, NOTED_AFTER_MS, Date.now(), spent, from, performance.now()).unref();
    before = now();
    from = performance.now();
    setImmediate(turn).unref();
  };
  setImmediate(turn).unref();
}

/** Milliseconds that this thread has been on a processor. */
function threadClock() {
  const wasi = new WASI({ version: "preview1" });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(MEMORY_MODULE));
  wasi.initialize(instance);
  const words = new Uint32Array(instance.exports.memory.buffer);
  return () => {
    wasi.wasiImport.clock_time_get(THREAD_CPU_TIME, 1n, 0);
    return (words[1] * 2 ** 32 + words[0]) / 1e6;
  };
}
