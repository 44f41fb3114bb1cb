/** Where several servers keep the same collections: their logs, and the views of them on this machine. */
import { unknownCollection } from "../../catalog/collection-entries.ts";
import type { CommitLog } from "../../storage/log/commit-log.ts";
import { HeadReader } from "../../storage/log/head-reader.ts";
import { LogCheckpoints, type ViewCopy } from "../../storage/log/log-checkpoints.ts";
import { type LogView, LoggedRecordStore, ViewVoid } from "../../storage/log/logged-record-store.ts";

/** What a collection's log is called, and which one it is. */
export interface LogName {
  readonly id: string;
  readonly epoch: string;
}

export interface ViewPlace {
  readonly open: () => LogView;
  /** Of the view that was opened last, as it is then. */
  readonly copy: () => Promise<ViewCopy>;
  readonly onProblem: (error: unknown) => void;
  /** With all that was made of it. */
  readonly remove: () => Promise<void>;
}

/** A checkpoint may be replaced while one is read. */
const MOST_VIEWS = 4;

export class CollectionLogs {
  readonly #log: CommitLog;
  readonly #heads: HeadReader;
  readonly #checkpointAfterBytes: number | undefined;

  /**
   * @param log Closed with this.
   * @param checkpointAfterBytes Of a log, before which no checkpoint is written.
   */
  constructor(log: CommitLog, checkpointAfterBytes?: number) {
    this.#log = log;
    this.#heads = new HeadReader(log);
    this.#checkpointAfterBytes = checkpointAfterBytes;
  }

  /** With all that is in the log. A view that is void is removed, and made anew. */
  async open(name: LogName, place: ViewPlace): Promise<LoggedRecordStore> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#open(name, place);
      } catch (error) {
        if (!(error instanceof ViewVoid) || attempt === MOST_VIEWS) throw error;
      }
      await place.remove();
    }
  }

  /** 404 where there is no such log. */
  async fork(source: string, { id, epoch }: LogName): Promise<void> {
    const outcome = await this.#log.copy(source, { collection: id, epoch });
    if (outcome === "gone") throw unknownCollection(source);
  }

  /** As `CommitLog.sweep`. */
  sweep(...[absentOf]: Parameters<CommitLog["sweep"]>): Promise<void> {
    return this.#log.sweep(absentOf);
  }

  drop(id: string): Promise<void> {
    return this.#log.drop(id);
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  async #open(name: LogName, { open, copy, onProblem }: ViewPlace): Promise<LoggedRecordStore> {
    const [view, log, heads] = [open(), this.#log, this.#heads];
    const leastBytes = this.#checkpointAfterBytes;
    const checkpoints = new LogCheckpoints({ ...name, log, copy, leastBytes, onProblem });
    try {
      return await LoggedRecordStore.open({ ...name, log, heads, view, checkpoints });
    } catch (error) {
      await view.close();
      throw error;
    }
  }
}
