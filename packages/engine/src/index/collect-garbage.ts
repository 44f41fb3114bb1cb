/**
 * Collects the garbage of this thread, which takes about ten milliseconds. For threads that hold memory V8 does not see
 * as a reason to collect: shared memory that was sent to them, memories of WebAssembly.
 */
import { Session } from "node:inspector";

let session: Session | null = null;

/** The one way that needs no flag of V8. */
export function collectGarbage(): void {
  if (session === null) {
    session = new Session();
    session.connect();
  }
  session.post("HeapProfiler.collectGarbage");
}
