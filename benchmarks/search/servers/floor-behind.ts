/**
 * The second process of a bare pair: reads requests of as many bytes as its argument says, whose first four say how long an
 * answer is wanted, and writes that many bytes.
 */
import { Socket } from "node:net";
import { CHANNEL_FD } from "@sheaf/process";

const requestBytes = Number(process.argv[2]);
const socket = new Socket({ fd: CHANNEL_FD, readable: true, writable: true });
let received: Buffer = Buffer.alloc(0);
socket.on("data", (chunk: Buffer) => {
  received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
  while (received.length >= requestBytes) {
    socket.write(Buffer.alloc(received.readUInt32LE()));
    received = received.subarray(requestBytes);
  }
});
socket.on("close", () => process.exit(0));
