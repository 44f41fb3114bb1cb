/** How a server and its tenants are: usage, models and the last hour. */
import type { MembersOf } from "../require-known.ts";
import { CALL, type CallOptions } from "../transport.ts";
import type { KeyScope } from "./api-key.ts";

export interface ModelParams extends CallOptions {
  /** Identifier. */
  readonly model: string;
}

export const PULL: MembersOf<ModelParams> = { model: true, ...CALL };

/** The key that a client sends. */
export interface CurrentKey {
  /** Empty on a server without keys. */
  readonly id: string;
  /** The only tenant that it may touch; `null`: every one. */
  readonly tenant: string | null;
  readonly database: string | null;
  readonly scopes: readonly KeyScope[];
  readonly expiresAt: Date | null;
}

export interface Amount {
  /** `null`: it is not counted. */
  readonly used: number | null;
  /** `null`: there is none, or the key may not see all that it counts for. */
  readonly quota: number | null;
}

export interface CollectionUsage {
  readonly id: string;
  readonly name: string;
  readonly database: string;
  readonly dimension: number | null;
  /** `null`: not known of a collection that was last written by an older server. */
  readonly records: number | null;
  /** On the disk, without the index. */
  readonly bytes: number | null;
  /** To within a second; `null`: never, or not known. */
  readonly lastWriteAt: Date | null;
  readonly totalOps: number;
  readonly numIndexedOps: number;
}

export interface TenantUsage {
  readonly tenant: string;
  readonly databases: Amount;
  readonly collections: Amount;
  readonly records: Amount;
  readonly bytes: Amount;
  readonly tokensToday: Amount;
  /** Those that the page has. */
  readonly described: readonly CollectionUsage[];
}

export interface Model {
  readonly identifier: string;
  readonly kind: "dense" | "sparse";
  readonly dimension: number | null;
  /** Of the longest text; `null`: any. */
  readonly maxTokens: number | null;
  /** The model for queries where it is another one. */
  readonly queryModel: string | null;
  /** Its weights are on the server. */
  readonly available: boolean;
  readonly loaded: boolean;
  /** That it takes while it is loaded. */
  readonly memoryBytes: number | null;
  /** Of absent weights that were asked for. */
  readonly pull:
    | { readonly state: "pulling"; readonly receivedBytes: number; readonly totalBytes: number }
    | { readonly state: "failed" }
    | null;
}

export interface StageTimes {
  readonly count: number;
  /** Milliseconds, to within a tenth. */
  readonly p50: number;
  readonly p95: number;
}

export interface HistoryInterval {
  readonly from: Date;
  readonly requests: number;
  /** Answers of 400 to 499. */
  readonly refused: number;
  /** Answers of 500 and more. */
  readonly failed: number;
  readonly tokens: number;
  /** Of whole requests, `request`, and of their stages. */
  readonly stages: Readonly<Record<string, StageTimes>>;
}

export interface MetricsHistory {
  readonly intervalSeconds: number;
  /** The oldest first. Those in which nothing was measured are left out. */
  readonly intervals: readonly HistoryInterval[];
}

export interface CurrentKeyReply extends Omit<CurrentKey, "expiresAt"> {
  readonly expires_at: string | null;
}

export function currentKeyOf({ expires_at, ...same }: CurrentKeyReply): CurrentKey {
  return { ...same, expiresAt: dateOf(expires_at) };
}

interface CollectionUsageReply extends Omit<CollectionUsage, "lastWriteAt" | "totalOps" | "numIndexedOps"> {
  readonly last_write_at: string | null;
  readonly total_ops: number;
  readonly num_indexed_ops: number;
}

export interface TenantUsageReply extends Omit<TenantUsage, "tokensToday" | "described"> {
  readonly tokens_today: Amount;
  readonly described: readonly CollectionUsageReply[];
}

export function tenantUsageOf({ tokens_today, described, ...same }: TenantUsageReply): TenantUsage {
  return { ...same, tokensToday: tokens_today, described: described.map(collectionUsageOf) };
}

function collectionUsageOf(reply: CollectionUsageReply): CollectionUsage {
  const { last_write_at, total_ops, num_indexed_ops, ...same } = reply;
  return { ...same, lastWriteAt: dateOf(last_write_at), totalOps: total_ops, numIndexedOps: num_indexed_ops };
}

export interface ModelReply extends Pick<
  Model,
  "identifier" | "kind" | "dimension" | "available" | "loaded"
> {
  readonly max_tokens: number | null;
  readonly query_model: string | null;
  readonly memory_bytes: number | null;
  readonly pull: {
    readonly state: string;
    readonly received_bytes?: number;
    readonly total_bytes?: number;
  } | null;
}

export function modelOf({ max_tokens, query_model, memory_bytes, pull, ...same }: ModelReply): Model {
  return {
    ...same,
    ...{ maxTokens: max_tokens, queryModel: query_model, memoryBytes: memory_bytes },
    pull: pullOf(pull ?? null),
  };
}

function pullOf(pull: ModelReply["pull"]): Model["pull"] {
  if (pull === null) return null;
  if (pull.state !== "pulling") return { state: "failed" };
  return { state: "pulling", receivedBytes: pull.received_bytes ?? 0, totalBytes: pull.total_bytes ?? 0 };
}

export interface MetricsHistoryReply {
  readonly interval_seconds: number;
  readonly intervals: readonly (Omit<HistoryInterval, "from"> & { readonly from: string })[];
}

export function metricsHistoryOf({ interval_seconds, intervals }: MetricsHistoryReply): MetricsHistory {
  return {
    intervalSeconds: interval_seconds,
    intervals: intervals.map((interval) => ({ ...interval, from: new Date(interval.from) })),
  };
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
