/**
 * The child's side: a process that serves calls on fd 3, survives signals meant for the whole group (its parent
 * decides when it leaves) and ends when the parent's end of the socket closes.
 */
import { Socket } from "node:net";
import { Channel } from "./channel.ts";
import { type RpcHandler, RpcServer } from "./rpc.ts";
import { CHANNEL_FD } from "./spawn.ts";

export interface ChildHooks {
  /** Runs once after the parent has gone; the process exits when it settles. */
  readonly onParentGone?: () => Promise<void>;
  readonly onUnexpected: (error: unknown) => void;
}

/** Serves until the parent closes the socket. Emit `ready` once calls can be answered. */
export function serveParent(handler: RpcHandler, hooks: ChildHooks): RpcServer {
  process.on("SIGTERM", () => {});
  process.on("SIGINT", () => {});
  const channel = new Channel(new Socket({ fd: CHANNEL_FD, readable: true, writable: true }));
  channel.onClose(() => {
    const finish = hooks.onParentGone?.() ?? Promise.resolve();
    void finish.catch(hooks.onUnexpected).finally(() => process.exit(0));
  });
  return new RpcServer(channel, handler, hooks.onUnexpected);
}
