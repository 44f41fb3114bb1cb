/**
 * Child process of one model replica: ONNX Runtime on one thread. A run cannot be stopped from inside and a native
 * fault takes the process with it, which is why this is a process: its parent may kill it at any time.
 */
import { serveParent } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import { ReplicaSession } from "./replica-session.ts";
import { LOAD_FAILED_EVENT, type ReplicaSpec, RUN_METHOD } from "./replica-messages.ts";

/** A file that could not be loaded is not tried again at every call. */
const RELOAD_AFTER_MS = 10_000;

const spec = JSON.parse(process.argv[2] ?? "") as ReplicaSpec;
let session: ReplicaSession | null = null;
let failedAtMs = -Infinity;

const server = serveParent(
  async (method, args) => {
    if (method !== RUN_METHOD) throw new SheafError("internal", `a replica has no method ${method}`);
    if (session === null && performance.now() - failedAtMs > RELOAD_AFTER_MS) await load();
    if (session === null) throw new SheafError("model_unavailable", "the model's files cannot be loaded");
    return session.run(args[0] as readonly Int32Array[]);
  },
  { onUnexpected: (error) => server.emit("unexpected", describe(error)) },
);

await load();
server.emit("ready", null);

async function load(): Promise<void> {
  try {
    session = await ReplicaSession.open(spec);
  } catch (error) {
    failedAtMs = performance.now();
    server.emit(LOAD_FAILED_EVENT, describe(error));
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
