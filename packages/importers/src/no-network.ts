/** Takes the network away from the process it is called in. None of our parsers uses it; a fault in one of them cannot either. */
import dgram from "node:dgram";
import { Socket } from "node:net";

export function withoutNetwork(): void {
  const refuse = (): never => {
    throw new Error("a parser has no network");
  };
  Socket.prototype.connect = refuse;
  dgram.createSocket = refuse;
  globalThis.fetch = refuse;
}
