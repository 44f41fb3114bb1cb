/**
 * The settings that bound requests: how long one may take, how many a key may send, what a tenant may keep. Part of
 * the table in `config.ts`; the page of limits lists them beside the bounds that are no settings.
 */
import { LIMITS } from "@sheaf/protocol";
import type { Setting } from "../config.ts";
import { countSetting } from "./count-setting.ts";

/** 0: no bound, except for the times. */
export interface BoundSettings {
  readonly requestSeconds: number;
  readonly bulkRequestSeconds: number;
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly concurrentRequests: number;
  readonly quotaTokensPerDay: number;
  readonly quotaDatabases: number;
  readonly quotaCollections: number;
  readonly quotaKeys: number;
  readonly quotaRecords: number;
  readonly quotaBytes: number;
  readonly bodyBytesPerTenant: number;
  readonly bodyBytes: number;
}

interface BoundSetting extends Setting<number> {
  /** Status of a request that goes over it. */
  readonly over: number;
  /** For the page of limits, where the status depends on the route. */
  readonly overDoc?: string;
}

const MOST_SECONDS = 24 * 3_600;

export const BOUND_SETTINGS: { readonly [name in keyof BoundSettings]: BoundSetting } = {
  requestSeconds: seconds(
    "request-seconds",
    LIMITS.requestSeconds,
    "Deadline of a request. A request that exceeds it is cancelled.",
  ),
  bulkRequestSeconds: seconds(
    "bulk-request-seconds",
    LIMITS.bulkRequestSeconds,
    `Deadline of a request that embeds more than ${LIMITS.bulkTexts} texts or copies a collection.`,
  ),
  requestsPerMinute: bound("requests-per-minute", 429, "Requests per minute and API key."),
  tokensPerMinute: bound("tokens-per-minute", 429, "Embedded tokens per minute and API key."),
  concurrentRequests: bound("concurrent-requests", 429, "Concurrent requests per API key."),
  quotaTokensPerDay: {
    ...bound("quota-tokens-per-day", 429, "Embedded tokens per tenant and day (UTC)."),
    overDoc: "429 on /embed and /embed_sparse, 422 otherwise",
  },
  quotaDatabases: bound("quota-databases", 422, "Databases of a tenant.", 100_000),
  quotaCollections: bound(
    "quota-collections",
    422,
    "Collections of a tenant, over all its databases.",
    100_000,
  ),
  quotaKeys: bound("quota-keys", 422, "API keys of the server, over all tenants.", 1_000_000),
  quotaRecords: bound("quota-records", 422, "Records of a tenant, over all its collections."),
  quotaBytes: bound(
    "quota-bytes",
    422,
    "Bytes on disk of a tenant's records. A write or fork that might exceed it is refused whole; removing records goes on.",
  ),
  bodyBytesPerTenant: bodyBytes("body-bytes-per-tenant", 429, {
    initial: 2 * LIMITS.bodyBytes,
    doc: "Bytes of request bodies in progress per tenant, over all its keys, parsed or not, until the work on them ends. A single body is never refused by it.",
  }),
  bodyBytes: bodyBytes("body-bytes", 503, {
    initial: 8 * LIMITS.bodyBytes,
    doc: "The same over all tenants. An eighth more is there for tenants with at most 1/64 of it, so that small requests are served meanwhile.",
  }),
};

/** @param initial In bytes; less than one body may have is no bound that a server can work with. */
function bodyBytes(
  name: string,
  over: number,
  { initial, doc }: { initial: number; doc: string },
): BoundSetting {
  return { ...countSetting(name, { operand: "bytes", initial, doc, least: LIMITS.bodyBytes }), over };
}

function seconds(name: string, initial: number, doc: string): BoundSetting {
  return {
    ...countSetting(name, { operand: "seconds", initial, doc, least: 1, most: MOST_SECONDS }),
    over: 504,
  };
}

/** @param initial 0: it is off unless it is set. */
function bound(name: string, over: number, doc: string, initial = 0): BoundSetting {
  return {
    ...countSetting(name, { operand: "number", initial, doc: `${doc} 0 means no limit.` }),
    over,
  };
}
