/**
 * The child's side: a process that serves calls on fd 3, survives signals meant for the whole group (its parent
 * decides when it leaves) and ends when the parent's end of the socket closes. A thread of its own ends it where the
 * main thread is stuck.
 */
import { Worker } from "node:worker_threads";
import { Channel } from "./channel.ts";
import { type RpcHandler, RpcServer, type RpcServerHooks } from "./rpc.ts";
import { CHANNEL_FD } from "./spawn.ts";

const PARENT_CHECK_MS = 1_000;
/**
 * Runs on a thread of its own, for a main thread that is stuck in native code or a loop cannot notice that its socket
 * has closed. A process whose parent has died has another parent id. As text, because loading a module may need
 * the main thread.
 */
const PARENT_WATCH = `
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, "SIGKILL");
}, ${PARENT_CHECK_MS});
`;

export interface ChildHooks extends RpcServerHooks {
  /** Runs once after the parent has gone; the process exits when it settles. */
  readonly onParentGone?: () => Promise<void>;
}

/** Serves until the parent closes the socket. Emit `ready` once calls can be answered. */
export function serveParent(handler: RpcHandler, hooks: ChildHooks): RpcServer {
  process.on("SIGTERM", () => {});
  process.on("SIGINT", () => {});
  new Worker(PARENT_WATCH, { eval: true, execArgv: [] }).unref();
  const channel = Channel.overDescriptor(CHANNEL_FD);
  channel.onClose(() => {
    const finish = hooks.onParentGone?.() ?? Promise.resolve();
    void finish.catch(hooks.onUnexpected).finally(() => process.exit(0));
  });
  return new RpcServer(channel, handler, hooks);
}
