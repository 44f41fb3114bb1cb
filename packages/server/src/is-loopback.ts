/** Whether only this machine can reach a listener on the host: a name or an address, without brackets or port. */
import { isIPv4 } from "node:net";

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}
