/** Engines that gateways ask over real sockets, in this process. */
import { setTimeout as sleep } from "node:timers/promises";
import { ClusterSecret, PeerListener, ServedPeers } from "@sheaf/process";
import type { Engine } from "../../engine.ts";
import { ClusterEngine } from "../cluster-engine.ts";
import { engineService } from "../engine-service.ts";

export const SECRET_TEXT = "a-secret-of-32-characters-or-more";
const SECRET = new ClusterSecret(SECRET_TEXT);
const HOST = "127.0.0.1";

export interface Node {
  readonly listener: PeerListener;
  readonly served: ServedPeers;
  /** Of its engine's methods, as they are called. */
  readonly calls: string[];
}

/** What is beside it makes the engine one that others call. */
export async function nodeOf(engine: Engine): Promise<Node> {
  const calls: string[] = [];
  const seen = new Proxy(engine, {
    get(target, name): unknown {
      if (name === "responsive") return true;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: readonly unknown[]): unknown => {
        calls.push(String(name));
        return Reflect.apply(value, target, args);
      };
    },
  }) as Engine & { readonly responsive: boolean };
  const served = new ServedPeers(engineService(seen), (error) => {
    throw error;
  });
  const listener = await PeerListener.open({
    ...{ host: HOST, port: 0, secret: SECRET, onPeer: (channel) => served.serve(channel) },
  });
  return { listener, served, calls };
}

/** @param readReplicas Nodes that serve reads of one collection. */
export async function gatewayOf(nodes: readonly Node[], readReplicas = 2): Promise<ClusterEngine> {
  const gateway = new ClusterEngine({ secret: SECRET, readReplicas, log: () => {} });
  gateway.update(nodes.map(({ listener: { port } }) => ({ host: HOST, port })));
  while (gateway.openNodes < nodes.length) await sleep(5);
  return gateway;
}
