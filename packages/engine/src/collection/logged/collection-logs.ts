/** Where several servers keep the same collections: their logs, and the views of them on this machine. */
import { unknownCollection } from "../../catalog/collection-entries.ts";
import type { CommitLog } from "../../storage/log/commit-log.ts";
import { HeadReader } from "../../storage/log/head-reader.ts";
import { type LogView, LoggedRecordStore, ViewVoid } from "../../storage/log/logged-record-store.ts";

/** What a collection's log is called, and which one it is. */
export interface LogName {
  readonly id: string;
  readonly epoch: string;
}

export interface ViewPlace {
  readonly open: () => LogView;
  /** With all that was made of it. */
  readonly remove: () => Promise<void>;
}

export class CollectionLogs {
  readonly #log: CommitLog;
  readonly #heads: HeadReader;

  /** @param log Closed with this. */
  constructor(log: CommitLog) {
    this.#log = log;
    this.#heads = new HeadReader(log);
  }

  /** With all that is in the log. A view that is void is removed, and made anew. */
  async open(name: LogName, place: ViewPlace): Promise<LoggedRecordStore> {
    try {
      return await this.#open(name, place.open());
    } catch (error) {
      if (!(error instanceof ViewVoid)) throw error;
    }
    await place.remove();
    return this.#open(name, place.open());
  }

  /** 404 where there is no such log. */
  async fork(source: string, { id, epoch }: LogName): Promise<void> {
    const outcome = await this.#log.copy(source, { collection: id, epoch });
    if (outcome === "gone") throw unknownCollection(source);
  }

  drop(id: string): Promise<void> {
    return this.#log.drop(id);
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  async #open(name: LogName, view: LogView): Promise<LoggedRecordStore> {
    try {
      return await LoggedRecordStore.open({ ...name, log: this.#log, heads: this.#heads, view });
    } catch (error) {
      await view.close();
      throw error;
    }
  }
}
