/** What a store on a log is made of. */
import type { CheckpointFiles } from "./checkpoint-files.ts";
import type { CommitLog, LogOwner } from "./commit-log.ts";
import type { HeadReader } from "./head-reader.ts";
import type { LogCheckpoints } from "./log-checkpoints.ts";
import type { LogView } from "./log-view.ts";

export interface LoggedStoreOptions {
  /** Of the collection. */
  readonly id: string;
  /** Of its log, which is made where there is none. */
  readonly epoch: string;
  readonly log: CommitLog;
  /** Where checkpoints may be that are not in the log's own place. */
  readonly files?: CheckpointFiles | undefined;
  readonly heads: HeadReader;
  /** Closed with this. */
  readonly view: LogView;
  /** Of the collection; 1 if it is left out. As long as there is a log, it stays the same. */
  readonly partitions?: number | undefined;
  /** The only one whose records the view has; nothing can be written then. Left out: it has those of all. */
  readonly partition?: number | undefined;
  /** Whose collection it is, and what all of theirs may keep together. */
  readonly quota: LogOwner;
  /** How often a write is planned anew; the default where it is left out. */
  readonly appendAttempts?: number | undefined;
  /** Settles once the writes that nobody waits for any more were aborted; `undefined`, or left out: they were. */
  readonly callersWait?: (() => Promise<unknown> | undefined) | undefined;
  /** Left out: the log is never trimmed by this store. */
  readonly checkpoints?: LogCheckpoints | undefined;
  /**
   * A place among the few whose checkpoints are read behind the first calls, to be given back; `null`: there is none for so many
   * bytes. Left out: there never is.
   */
  readonly claimCold?: ((checkpointBytes: number) => (() => void) | null) | undefined;
  /** Told of a view that could not be filled behind the calls. */
  readonly onProblem?: ((error: unknown) => void) | undefined;
}
