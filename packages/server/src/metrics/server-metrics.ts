/**
 * What a server measures of itself, in the text format of Prometheus. Labels are patterns of routes, names of stages,
 * models and children: never names of tenants or collections, which are their owners' business and without bound.
 */
import type { EngineStatistics } from "@sheaf/engine";
import type { EmbedNodeMeasure } from "@sheaf/inference";
import { MetricsHistory } from "./metrics-history.ts";
import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** What a model made of one batch. */
export interface BatchMeasure {
  readonly model: string;
  /** Tokens of each text. */
  readonly lengths: readonly number[];
  /** Tokens that wait for the model after it. */
  readonly queuedTokens: number;
}

export interface BodyMeasure {
  /** Of bodies that are received or worked on. */
  readonly bytes: number;
  /** Bodies that wait for a thread. */
  readonly queued: number;
}

/** Of replies that are being made or sent. */
export interface ReplyBytes {
  readonly inMemory: number;
  readonly spooled: number;
}

export interface BackupMeasure {
  readonly running: boolean;
  /** Seconds since 1970 at which the newest backup of all tenants was begun; 0: there is none. */
  readonly newest: number;
  /** There should be one. */
  readonly missing: boolean;
}

export interface NodeMeasure {
  readonly search: number;
  readonly index: number;
}

export interface RequestMeasure {
  readonly method: string;
  /** Pattern of the path. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

/** From 1 ms to a minute. */
const LATENCY_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60];
const FILL = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1];

export class ServerMetrics {
  /** What the process itself is measured by goes here as well. */
  readonly registry = new Registry();
  /** Of the last hour. */
  readonly history = new MetricsHistory();
  readonly #requests: Histogram<"method" | "route" | "status">;
  readonly #stages: Histogram<"stage">;
  /** Stages that have ended since the event loop turned last. */
  #ended: { readonly stage: string; readonly seconds: number }[] = [];
  readonly #tokens: Counter<"model">;
  readonly #fill: Histogram<"model">;
  readonly #queue: Gauge<"model">;
  readonly #restarts: Counter<"child">;
  readonly #receiversCut: Counter;
  readonly #backups: Counter<"result">;
  readonly #replyBytes: Gauge<"where">;
  #replies: ReplyBytes = { inMemory: 0, spooled: 0 };
  readonly #engine: Readonly<Record<keyof EngineStatistics, Settable>>;

  constructor() {
    const registers = [this.registry];
    const latency = { registers, buckets: LATENCY_SECONDS };
    const name = (rest: string, help: string) => ({ name: `sheaf_${rest}`, help, registers });
    const gauge = (rest: string, help: string, labels: readonly string[] = []) =>
      new Gauge({ ...name(rest, help), labelNames: [...labels] });
    this.#requests = new Histogram({
      ...name("http_request_duration_seconds", "Time to answer a request."),
      ...latency,
      labelNames: ["method", "route", "status"],
    });
    this.#stages = new Histogram({
      ...name(
        "stage_duration_seconds",
        "Time of receiving a body (receive), of waiting for a thread to parse it (parse.queue), of parsing it (parse), of a call of the engine or of a model, and of the stages inside the engine.",
      ),
      ...latency,
      labelNames: ["stage"],
      collect: () => this.#observeStages(),
    });
    this.#tokens = new Counter({
      ...name("embedded_tokens_total", "Tokens that models have run over, padding not counted."),
      labelNames: ["model"],
    });
    this.#fill = new Histogram({
      ...name("batch_fill_ratio", "Tokens of a batch by its tokens with padding."),
      buckets: FILL,
      labelNames: ["model"],
    });
    this.#queue = new Gauge({
      ...name("queue_tokens", "Tokens that wait for a model, after its newest batch."),
      labelNames: ["model"],
    });
    this.#restarts = new Counter({
      ...name("child_restarts_total", "Unexpected ends of child processes, which are started again."),
      labelNames: ["child"],
    });
    this.#replyBytes = new Gauge({
      ...name(
        "reply_bytes",
        "Bytes of replies that are being made or sent, in memory and in files of the spool.",
      ),
      labelNames: ["where"],
      collect: () => this.#showReplies(),
    });
    this.#receiversCut = new Counter(
      name("receivers_cut_total", "Connections closed because their client read its reply too slowly."),
    );
    this.#backups = new Counter({
      ...name("backups_total", "Backups that were made, or failed, since the server started."),
      labelNames: ["result"],
    });
    for (const result of ["complete", "failed"]) this.#backups.inc({ result }, 0);
    this.#engine = engineGauges(gauge);
  }

  /** @param read Asked when the metrics are. */
  watchBodies(read: () => BodyMeasure): void {
    this.#watch("body_bytes", "Bytes of request bodies in progress.", () => read().bytes);
    this.#watch("body_queue", "Large bodies that wait for a thread to parse them.", () => read().queued);
  }

  /** @param read Asked when the metrics are. */
  watchBackups(read: () => BackupMeasure): void {
    const newest =
      "Unix time at which the newest complete backup of all tenants was begun; 0 if there is none.";
    this.#watch("backup_newest_timestamp_seconds", newest, () => read().newest);
    const missing =
      "1 where the server has a folder for backups, and no complete backup of all tenants there.";
    this.#watch("backup_missing", missing, () => Number(read().missing));
    this.#watch("backup_running", "1 while a backup is being made.", () => Number(read().running));
  }

  /** @param read Asked when the metrics are. */
  watchEmbedNodes(read: () => EmbedNodeMeasure): void {
    this.#watch("embed_nodes", "Embed nodes that can be called.", () => read().nodes);
    this.#watch("embed_node_texts", "Texts that wait for an embed node.", () => read().inFlight);
    const alone = "Calls that this server embedded itself for want of an embed node, since its start.";
    this.#watch("embed_alone", alone, () => read().alone);
  }

  /** Of a gateway. @param read Asked when the metrics are. */
  watchNodes(read: () => NodeMeasure): void {
    this.#watch("search_nodes", "Search nodes that can be called.", () => read().search);
    this.#watch("index_nodes", "Index nodes that the database knows.", () => read().index);
  }

  backupEnded(complete: boolean): void {
    this.#backups.inc({ result: complete ? "complete" : "failed" });
  }

  #watch(name: string, help: string, value: () => number): void {
    const made: Gauge = new Gauge({
      ...{ name: `sheaf_${name}`, help, registers: [this.registry] },
      collect: () => made.set(value()),
    });
  }

  request({ method, route, status, seconds }: RequestMeasure): void {
    this.#requests.observe({ method, route, status }, seconds);
    this.history.request(status, seconds);
  }

  /** Observed a little later: it takes some microseconds, and most stages end right before an answer is sent. */
  stage(stage: string, seconds: number): void {
    if (this.#ended.push({ stage, seconds }) === 1) setImmediate(() => this.#observeStages());
  }

  #showReplies(): void {
    this.#replyBytes.set({ where: "memory" }, this.#replies.inMemory);
    this.#replyBytes.set({ where: "spool" }, this.#replies.spooled);
  }

  #observeStages(): void {
    const ended = this.#ended;
    this.#ended = [];
    for (const { stage, seconds } of ended) {
      this.#stages.observe({ stage }, seconds);
      this.history.stage(stage, seconds);
    }
  }

  batch({ model, lengths, queuedTokens }: BatchMeasure): void {
    const tokens = lengths.reduce((sum, length) => sum + length, 0);
    const padded = lengths.reduce((most, length) => Math.max(most, length), 0) * lengths.length;
    this.#tokens.inc({ model }, tokens);
    this.history.tokens(tokens);
    if (padded > 0) this.#fill.observe({ model }, tokens / padded);
    this.#queue.set({ model }, queuedTokens);
  }

  /** Whose bytes the gauge of replies shows. */
  watchReplies(replies: ReplyBytes): void {
    this.#replies = replies;
  }

  receiverCut(): void {
    this.#receiversCut.inc();
  }

  /** An increase shows only where there was a zero before. */
  childStarted(child: string): void {
    this.#restarts.inc({ child }, 0);
  }

  childEnded(child: string): void {
    this.#restarts.inc({ child });
  }

  /** @param engine `null`: it does not serve now; then what is known of it is of before. */
  async text(engine: EngineStatistics | null): Promise<string> {
    if (engine !== null) {
      for (const [name, gauge] of Object.entries(this.#engine)) {
        gauge.set(engine[name as keyof EngineStatistics]);
      }
    }
    return this.registry.metrics();
  }
}

/** A gauge, or one of its labels. */
interface Settable {
  set(value: number): void;
}

type MakeGauge = (name: string, help: string, labels?: readonly string[]) => Gauge;

function archiveGauges(
  gauge: MakeGauge,
): Readonly<Record<keyof EngineStatistics & `archive${string}`, Gauge>> {
  return {
    archivePosition: gauge(
      "archive_position",
      "Newest entry of the archive that is on disk; 0 without an archive, as are the others.",
    ),
    archiveLagSeconds: gauge(
      "archive_lag_seconds",
      "For how long the oldest entry that is not on disk in the archive has been waiting.",
    ),
    archiveBytes: gauge("archive_bytes", "Size of the archive's files."),
    archiveFailing: gauge(
      "archive_failing",
      "1 while the archive cannot be written or has only the reserve of its disk left, and writes are refused.",
    ),
    archiveBackupMissing: gauge(
      "archive_backup_missing",
      "1 until a complete backup of all tenants is made that the archive goes on from: until then nothing can be restored with it.",
    ),
  };
}

function databaseGauges(
  gauge: MakeGauge,
): Readonly<Record<keyof EngineStatistics & `database${string}`, Gauge>> {
  return {
    databaseAppends: gauge(
      "database_appends",
      "Appends to logs of --database, since the engine started; 0 without one, as are the others.",
    ),
    databaseAppendSeconds: gauge(
      "database_append_seconds",
      "Time that these appends took together, with the wait for a synchronous standby.",
    ),
    databaseMoved: gauge(
      "database_appends_moved",
      "Appends that another server was faster than, so that their writes were planned anew.",
    ),
    databaseUnknown: gauge("database_appends_unknown", "Appends whose answer was lost."),
    databaseWaiting: gauge("database_waiting", "Callers that wait for a connection to --database."),
    databaseWaits: gauge(
      "database_connection_waits",
      "Callers that had to wait for a connection, since the engine started.",
    ),
    databaseCatalogSeconds: gauge(
      "database_catalog_age_seconds",
      "Time since the state of the catalog was last asked for; more than a second: the database is slow or away.",
    ),
    databaseLongestLog: gauge(
      "database_longest_log_bytes",
      "Longest log of an open collection; at --database-log-bytes its writes get 503.",
    ),
    databaseCheckpointDueSeconds: gauge(
      "database_checkpoint_due_seconds",
      "For how long a log of an open collection has needed a checkpoint that is not written.",
    ),
    databaseIndexJobs: gauge("index_jobs", "Jobs that an index node has done, since its engine started."),
    databaseIndexJobsFailed: gauge(
      "index_jobs_failed",
      "Jobs that an index node could not do, and tries again, since its engine started.",
    ),
    databaseLeftToIndexNodes: gauge(
      "left_to_index_nodes",
      "1 while a search node leaves publications and checkpoints to index nodes.",
    ),
    databaseObjectsFailing: gauge(
      "objects_failing",
      "1 while the object store has refused the newest request, or has not answered it; the log says why.",
    ),
  };
}

/** One for each of the engine's statistics. */
function engineGauges(gauge: MakeGauge): Readonly<Record<keyof EngineStatistics, Settable>> {
  const memory = gauge("index_memory_bytes", "What indexes keep in memory, by what it is.", ["kind"]);
  return {
    collections: gauge("collections", "Collections there are."),
    openCollections: gauge("open_collections", "Collections that are open."),
    catalogBytes: gauge("lmdb_catalog_bytes", "Size of the catalog's file."),
    openCollectionBytes: gauge("lmdb_open_collection_bytes", "Size of the files of the open collections."),
    openingCollections: gauge("opening_collections", "Collections that are being opened."),
    unsealedRows: gauge(
      "index_unsealed_rows",
      "Rows of open collections that are in no sealed segment; an opening replays them.",
    ),
    longestReplay: gauge(
      "index_longest_replay_operations",
      "Most operations that the next opening of an open collection would replay.",
    ),
    oldestManifestSeconds: gauge(
      "index_oldest_manifest_seconds",
      "Time since the oldest of the newest manifests that were written for open collections.",
    ),
    damagedCollections: gauge(
      "damaged_collections",
      "Collections whose stored data was found damaged, and not found whole since.",
    ),
    damagedIndexFiles: gauge(
      "index_damaged_files",
      "Index files that were found damaged and set aside, since the engine started.",
    ),
    ...archiveGauges(gauge),
    ...databaseGauges(gauge),
    indexUnsealedBytes: memory.labels("unsealed"),
    indexVectorBytes: memory.labels("vectors"),
    indexCodeBytes: memory.labels("codes"),
    indexCopyBytes: memory.labels("copies"),
    indexPartBytes: memory.labels("parts"),
    indexPartReads: gauge(
      "index_part_reads",
      "Parts of index files that were read, since the engine started.",
    ),
    indexPartEvictions: gauge(
      "index_part_evictions",
      "Parts of index files that were dropped from memory to make room, since the engine started.",
    ),
    rowsScanned: gauge(
      "rows_scanned",
      "Rows that dense searches have ranked after their filters, since the engine started.",
    ),
    runningCalls: gauge(
      "engine_running_calls",
      "Calls on collections that the engine works on; one that nobody waits for any more, until it has stopped.",
    ),
    openReads: gauge(
      "open_reads",
      "Reads of several batches that the engine holds open between two of them.",
    ),
    waitingRegexRequests: gauge(
      "regex_waiting_requests",
      "Requests that wait for a thread that runs regular expressions.",
    ),
    endedRegexThreads: gauge(
      "regex_ended_threads",
      "Threads that were ended because their regular expression ran past its request, since the engine started.",
    ),
  };
}
