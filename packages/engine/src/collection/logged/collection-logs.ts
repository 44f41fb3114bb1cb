/** Where several servers keep the same collections: their logs, and the views of them on this machine. */
import { type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import { unknownCollection } from "../../catalog/collection-entries.ts";
import type { CheckpointFiles } from "../../storage/log/checkpoint-files.ts";
import { type CommitLog, ViewVoid } from "../../storage/log/commit-log.ts";
import { CHECKPOINT_AFTER_BYTES } from "../../storage/log/checkpoint-log.ts";
import { HeadReader } from "../../storage/log/head-reader.ts";
import {
  LogCheckpoints,
  type LogCheckpointsOptions,
  type RecordsCopy,
} from "../../storage/log/log-checkpoints.ts";
import { ChangedRecords, type ChangedRecordsOptions } from "../../storage/log/changed/changed-records.ts";
import { Slots } from "../../storage/objects/slots.ts";
import { type Usage, requireFits } from "../../storage/usage.ts";
import { KnownRecords } from "../../storage/log/asked/known-records.ts";
import type { LogView } from "../../storage/log/log-view.ts";
import { LoggedRecordStore } from "../../storage/log/logged-record-store.ts";
import type { LoggedStoreOptions } from "../../storage/log/logged-store-options.ts";
import { CheckpointTurns } from "./checkpoint-turns.ts";
import { TenantSlots } from "./tenant-slots.ts";

/** What a collection's log is called, and which one it is. */
export interface LogName {
  readonly id: string;
  readonly epoch: string;
  readonly tenant: string;
  /** Of the collection; one where it is left out. */
  readonly partitions?: number;
  /** The only one whose records the view is to have; it writes nothing then, not even checkpoints. */
  readonly partition?: number | undefined;
}

export interface ViewPlace {
  readonly open: () => LogView | Promise<LogView>;
  /** Of the view that was opened last, as it is then; or of the log. */
  readonly copy: (signal: CancelSignal) => Promise<RecordsCopy>;
  readonly onProblem: (error: unknown) => void;
  /** With all that was made of it. */
  readonly remove: () => Promise<void>;
}

/** A checkpoint may be replaced while one is read. */
const MOST_VIEWS = 4;
/** Each finds that it is too much, and that there is room right after. */
const MOST_COPIES = 8;

/**
 * Collections whose records are read behind their calls: each may take some 300 MB of memory until they are here. A partition takes
 * its share of that, and counts so.
 */
const MOST_COLD = 2;
/** Of one collection. */
const COLD_UNITS = 64;
/** Logs that nobody writes any more, which are trimmed sooner than they need it. */
const QUIET_AT_ONCE = 2;
/** Partitions of one tenant that are opened: each reads the log, and one read of a collection may ask for 64 of them. */
const OPENING_PARTITIONS = 4;
/** Openings. */
const COUNTED_AFTER = 256;

export interface CollectionLogsOptions {
  /** What a tenant may keep. */
  readonly most: Usage;
  /** Of a log, before which no checkpoint is written. */
  readonly checkpointAfterBytes?: number | undefined;
  /** As `LogCheckpointsOptions` has it. */
  readonly checkpointQuietMs?: number | undefined;
  /** As the log's own. */
  readonly maxLogBytes?: number | undefined;
  readonly appendAttempts?: number | undefined;
  /** As of an engine. */
  readonly callersWait?: LoggedStoreOptions["callersWait"];
  /** Where records of checkpoints are written to; into the log where it is left out. */
  readonly files?: CheckpointFiles | undefined;
  /** Whether checkpoints are left to another server. */
  readonly isLeft?: (() => boolean) | undefined;
  /** Collections are opened for what can be made of them, and neither they nor the catalog are changed. */
  readonly changesNothing?: boolean | undefined;
  /** Bytes of such a file from which on it is read behind the first calls; by default an eighth of what a log needs. */
  readonly coldFromBytes?: number | undefined;
}

type Measured = Pick<LoggedRecordStore, "measure">;

export interface ChangedOptions extends Pick<ChangedRecordsOptions, "entries" | "scratch" | "until"> {
  readonly signal: CancelSignal;
}

export interface TrimOptions {
  /** Of the state with this sequence number; as of `ViewPlace`. */
  readonly copy: (until: number, signal: CancelSignal) => Promise<RecordsCopy>;
  readonly onProblem: (error: unknown) => void;
  /** As of `LogCheckpoints.settle`. */
  readonly isQuiet: boolean;
  /** Breaks off. */
  readonly signal: CancelSignal;
  /** Done between choosing the state and writing it down; the log is trimmed also where this fails. */
  readonly before: () => Promise<void>;
}

export class CollectionLogs {
  readonly #log: CommitLog;
  readonly #heads: HeadReader;
  readonly #options: CollectionLogsOptions;
  readonly #open = new Set<Measured>();
  /** In units. */
  #cold = 0;
  readonly #quiet = new Slots(QUIET_AT_ONCE);
  /** Those in partitions have to wait for turns, of which a tenant has one; they wait for that before they hold up others. */
  readonly #quietDivided = new TenantSlots(1);
  readonly #openings = new TenantSlots(OPENING_PARTITIONS);
  /** Of those who make checkpoints without the records. */
  readonly turns = new CheckpointTurns();
  /** What was asked of others, of collections whose records are not here. */
  readonly known = new KnownRecords();

  /** @param log Closed with this. */
  constructor(log: CommitLog, options: CollectionLogsOptions) {
    this.#log = log;
    this.#options = options;
    this.#heads = new HeadReader(log);
  }

  get changesNothing(): boolean {
    return this.#options.changesNothing === true;
  }

  /** The longest log of an open collection, and for how long the oldest checkpoint has been due that one needs. */
  measure(): { readonly longestLog: number; readonly checkpointDueMs: number } {
    let [longestLog, checkpointDueMs] = [0, 0];
    for (const store of this.#open) {
      const { measure } = store;
      if (measure === null) this.#open.delete(store);
      longestLog = Math.max(longestLog, measure?.logBytes ?? 0);
      checkpointDueMs = Math.max(checkpointDueMs, measure?.checkpointDueMs ?? 0);
    }
    return { longestLog, checkpointDueMs };
  }

  /** With all that is in the log. A view that is void is removed, and made anew. Of the partitions of a tenant a few at a time. */
  open(name: LogName, place: ViewPlace): Promise<LoggedRecordStore> {
    const open = (): Promise<LoggedRecordStore> => this.#openAnew(name, place);
    return name.partition === undefined ? open() : this.#openings.run(name.tenant, open);
  }

  async #openAnew(name: LogName, place: ViewPlace): Promise<LoggedRecordStore> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#openOnce(name, place);
      } catch (error) {
        if (!(error instanceof ViewVoid) || attempt === MOST_VIEWS) throw error;
      }
      await place.remove();
    }
  }

  /** Its records at a state of the log, made of the checkpoint before and of the log alone. To be closed. */
  changed(name: LogName, { signal, ...places }: ChangedOptions): Promise<ChangedRecords> {
    const { id: collection, epoch, partitions = 1 } = name;
    const [log, { files }] = [this.#log, this.#options];
    return ChangedRecords.read({ ...places, log, files, collection, epoch, partitions }, signal);
  }

  /**
   * Has the log of a collection that is not open here trimmed to the state that it has now, if that is due, or `isQuiet` and worth
   * it. Rejects where it could not be, or `before` has failed.
   */
  async trim(name: LogName, { copy, onProblem, isQuiet, signal, before }: TrimOptions): Promise<void> {
    const head = await this.#heads.head(name.id);
    if (head === null) throw unknownCollection(name.id);
    const checkpoints = this.#checkpointsOf(name, {
      copy: (closing) => copy(head.sequence, closing),
      onProblem,
    });
    // What reads the log up to there later finds another count at its head, for writes go on.
    if (head.usage !== null) checkpoints.counted(head.sequence, head.usage.records);
    const close = (): void => void checkpoints.close();
    signal.addEventListener("abort", close, { once: true });
    const open: Measured = {
      get measure() {
        return { logBytes: head.bytes, checkpointDueMs: checkpoints.dueMs };
      },
    };
    this.#open.add(open);
    try {
      const [earlier] = await Promise.allSettled([before()]);
      throwIfAborted(signal);
      await checkpoints.settle(head, isQuiet);
      if (earlier.status === "rejected") throw earlier.reason;
    } finally {
      this.#open.delete(open);
      signal.removeEventListener("abort", close);
      await checkpoints.close();
    }
  }

  /** Empty; nothing is done where it is there. */
  async create({ id, epoch, tenant }: LogName): Promise<void> {
    await this.#log.create(id, { epoch, state: new Uint8Array(0), owner: tenant });
  }

  /** 404 where there is no such log, 422 where the tenant may not keep so much more. */
  async fork(source: string, { id, epoch, tenant }: LogName): Promise<void> {
    const quota = { owner: tenant, most: this.#options.most };
    for (let attempt = 0; attempt < MOST_COPIES; attempt++) {
      const outcome = await this.#log.copy(source, { collection: id, epoch, quota });
      if (outcome === "done") return;
      const [head] = await this.#log.heads([source]);
      if (outcome === "gone" || head == null) throw unknownCollection(source);
      requireFits(
        head.usage ?? { records: 0, bytes: 0 },
        await this.#log.usageOf(tenant),
        this.#options.most,
      );
    }
    throw new SheafError("rate_limited", "others write too much at the same time", { retryAfterSeconds: 1 });
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

  async #openOnce(
    { tenant, ...name }: LogName,
    { open, copy, onProblem }: ViewPlace,
  ): Promise<LoggedRecordStore> {
    const [view, log, heads] = [await open(), this.#log, this.#heads];
    const { most, appendAttempts, callersWait, files } = this.#options;
    const quota = { owner: tenant, most };
    let opened: LoggedRecordStore | null = null;
    const isWhole = name.partition === undefined;
    const refresh = async (): Promise<void> => opened?.refresh();
    const checkpoints = isWhole
      ? this.#checkpointsOf({ ...name, tenant }, { copy, onProblem, refresh })
      : undefined;
    const shares = isWhole ? 1 : (name.partitions ?? 1);
    const claimCold = (bytes: number): (() => void) | null => this.#claimCold(bytes, shares);
    try {
      const places = { ...name, log, files, heads, view, checkpoints, quota, claimCold };
      const store = await LoggedRecordStore.open({ ...places, appendAttempts, callersWait, onProblem });
      opened = store;
      // Those that were closed go when they are counted.
      if (this.#open.size % COUNTED_AFTER === 0) this.measure();
      this.#open.add(store);
      return store;
    } catch (error) {
      await view.close();
      throw error;
    }
  }

  #checkpointsOf(
    { id, epoch, tenant, partitions = 1 }: LogName,
    own: Pick<LogCheckpointsOptions, "copy" | "onProblem" | "refresh">,
  ): LogCheckpoints {
    const { checkpointAfterBytes, checkpointQuietMs, maxLogBytes, files, isLeft } = this.#options;
    return new LogCheckpoints({
      ...{ id, epoch, log: this.#log, files, maxLogBytes, isLeft },
      ...{ leastBytes: checkpointAfterBytes, quietMs: checkpointQuietMs },
      inTurn: (work) => {
        const inTurn = (): Promise<void> => this.#quiet.run(work);
        return partitions === 1 ? inTurn() : this.#quietDivided.run(tenant, inTurn);
      },
      ...own,
    });
  }

  /** @param shares Into how many of about the same size the checkpoint is cut, of which one is read. */
  #claimCold(checkpointBytes: number, shares: number): (() => void) | null {
    const { checkpointAfterBytes = CHECKPOINT_AFTER_BYTES, coldFromBytes = checkpointAfterBytes / 8 } =
      this.#options;
    const units = Math.ceil(COLD_UNITS / shares);
    if (checkpointBytes / shares < coldFromBytes || this.#cold + units > MOST_COLD * COLD_UNITS) return null;
    this.#cold += units;
    return () => void (this.#cold -= units);
  }
}
