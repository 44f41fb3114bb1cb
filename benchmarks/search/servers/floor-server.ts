/** The floor as a process of its own, or as two, started and ended. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { SOURCE_ARGUMENTS } from "../../embed/forked-server.ts";
import { HttpClient } from "../http-client.ts";

const MODULE = new URL("./floor-process.ts", import.meta.url);

export interface FloorServer {
  readonly client: HttpClient;
  readonly pid: number;
  stop(): Promise<void>;
}

export async function startFloor(kind: "alone" | "pair"): Promise<FloorServer> {
  const child = fork(MODULE, [kind], { execArgv: SOURCE_ARGUMENTS });
  const [port] = (await once(child, "message")) as [number];
  const client = new HttpClient(`http://127.0.0.1:${port}`);
  return {
    client,
    pid: child.pid ?? 0,
    async stop() {
      client.close();
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}

/** Where the floor answers with that many bytes. */
export function floorPath(bytes: number): string {
  return `/answer/${bytes}`;
}
