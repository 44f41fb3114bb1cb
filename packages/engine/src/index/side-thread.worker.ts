/**
 * The thread of `SideThread`: sleeps until the bell rings, works wherever something was posted, and leaves after a
 * while without. V8 counts shared memory in no heap, so it collects by itself when blocks it kept are gone.
 */
import assert from "node:assert/strict";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { collectGarbage } from "./collect-garbage.ts";
import { attachSeat } from "../segment/postings/sparse-block.ts";
import type { SideThreadData, SideThreadMessage } from "./side-thread.ts";
import { SearchBest, type SparseSeat } from "../segment/postings/sparse-seat.ts";

assert(parentPort !== null, "side-thread.worker runs as a worker thread");
const port = parentPort;
const { number, bell, idleMs } = workerData as SideThreadData;
const best = new SearchBest();
let seats: SparseSeat[] = [];

for (let isWanted = true; isWanted;) {
  const rung = Atomics.load(bell, 0);
  sitDown();
  for (const seat of seats) seat.work(best);
  leaveClosed();
  isWanted = Atomics.wait(bell, 0, rung, idleMs) !== "timed-out";
}

function sitDown(): void {
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    for (const block of next.message as SideThreadMessage) {
      const seat = attachSeat(block);
      seat.sit(number);
      seats.push(seat);
    }
  }
}

function leaveClosed(): void {
  if (!seats.some((seat) => seat.isClosed)) return;
  seats = seats.filter((seat) => !seat.isClosed);
  collectGarbage();
}
