/**
 * The second process of a bare pair: reads from fd 3 requests as long as a vector, whose first four bytes say how long an
 * answer is wanted, and writes that many bytes.
 */
import { Socket } from "node:net";

/** As floor-process.ts sends them. */
const FORWARDED_BYTES = 4 * 384;

const socket = new Socket({ fd: 3, readable: true, writable: true });
let received: Buffer = Buffer.alloc(0);
socket.on("data", (chunk: Buffer) => {
  received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
  while (received.length >= FORWARDED_BYTES) {
    socket.write(Buffer.alloc(received.readUInt32LE()));
    received = received.subarray(FORWARDED_BYTES);
  }
});
socket.on("close", () => process.exit(0));
