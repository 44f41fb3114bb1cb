/** Engines in this process that ask each other for records, over real sockets. */
import { ClusterSecret, type PeerAddress } from "@sheaf/process";
import { NodeRecords } from "../node-records.ts";
import { type Node, SECRET_TEXT } from "./test-nodes.ts";

export class AskingNodes {
  #known: readonly PeerAddress[] = [];
  readonly #told = new Set<(nodes: readonly PeerAddress[]) => void>();
  readonly #opened: NodeRecords[] = [];

  /** For one of the engines. */
  open(readReplicas = 1): NodeRecords {
    const records = new NodeRecords({
      secret: new ClusterSecret(SECRET_TEXT),
      readReplicas,
      watch: async (tell) => {
        this.#told.add(tell);
        tell(this.#known);
        return async () => void this.#told.delete(tell);
      },
    });
    this.#opened.push(records);
    return records;
  }

  /** These are the nodes from now on. */
  know(nodes: readonly Node[]): void {
    this.#known = nodes.map(({ listener: { port } }) => ({ host: "127.0.0.1", port }));
    for (const tell of this.#told) tell(this.#known);
  }

  /** After the engines. */
  async close(): Promise<void> {
    await Promise.all(this.#opened.map((records) => records.close()));
  }
}
