/** The server of a run on its data folder: started, started anew, watched, ended. */
import { sheafLauncher } from "../search/servers/launch-sheaf.ts";
import {
  COLLECTION,
  CONFIGURATION,
  type Launch,
  type ServerUnderTest,
  createCollection,
} from "../search/servers/server-under-test.ts";
import { waitForHeartbeat } from "../search/workload/load-records.ts";
import { MemoryPhases } from "./memory-phases.ts";
import { type FirstSearch, type Opening, openServer } from "./phases/opening.ts";

/** A server that runs, and the path of its collection. */
export interface Running {
  readonly server: ServerUnderTest;
  readonly path: string;
}

export class ServerSession {
  readonly folder: string;
  readonly memory = new MemoryPhases();
  readonly #launch: Launch;
  readonly #search: FirstSearch;
  #running: Running | null = null;

  /** @param search Answered completely, it shows that the whole collection is open. */
  constructor(folder: string, flags: readonly string[], search: FirstSearch) {
    this.folder = folder;
    this.#launch = sheafLauncher(flags);
    this.#search = search;
  }

  get running(): Running | null {
    return this.#running;
  }

  /** Starts on an empty folder, with an empty collection. */
  async startEmpty(phase: string): Promise<Running> {
    await this.close();
    const server = await this.#launch(this.folder);
    this.#running = { server, path: "" };
    await this.memory.begin(phase, server.pid);
    await waitForHeartbeat(server);
    const path = await createCollection(server.client, { name: COLLECTION, configuration: CONFIGURATION });
    this.#running = { server, path };
    return this.#running;
  }

  /** Starts on what is there, until the first complete answer. */
  async open(phase: string): Promise<Running & { readonly opening: Opening }> {
    await this.close();
    const watch = ({ pid }: ServerUnderTest): Promise<void> => this.memory.begin(phase, pid);
    const opened = await openServer(this.#launch, this.folder, this.#search, watch);
    this.#running = opened;
    return opened;
  }

  /** Of the server that runs. */
  async beginPhase(phase: string): Promise<void> {
    if (this.#running !== null) await this.memory.begin(phase, this.#running.server.pid);
  }

  /** Ends the server, and leaves its data. */
  async close(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    await this.memory.end();
    await running?.server.stop();
  }

  async stop(): Promise<void> {
    await this.close();
    await this.memory.stop();
  }
}
