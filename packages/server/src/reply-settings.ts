/** The settings that bound replies: how long they may be, and how slowly they may be read. Part of the table in `config.ts`. */
import type { Setting } from "./config.ts";
import { parseCount } from "./parse-count.ts";

export interface ReplySettings {
  readonly replyBytes: number;
  readonly replyBytesPerTenant: number;
  readonly replyBytesTotal: number;
  readonly replySeconds: number;
  readonly receiverBytesPerSecond: number;
  readonly receiverSeconds: number;
}

const GIB = 2 ** 30;
const MOST_SECONDS = 7 * 24 * 3_600;

export const REPLY_SETTINGS: { readonly [name in keyof ReplySettings]: Setting<number> } = {
  replyBytes: {
    env: "SHEAF_REPLY_BYTES",
    flag: { name: "reply-bytes", operand: "bytes" },
    default: String(GIB),
    doc: "Size of one reply with records. A longer one is answered with 413, which names `limit`.",
    parse: (text) => parseCount(text, 1),
  },
  replyBytesPerTenant: {
    env: "SHEAF_REPLY_BYTES_PER_TENANT",
    flag: { name: "reply-bytes-per-tenant", operand: "bytes" },
    default: String(GIB),
    doc: "Size of all such replies of a tenant that are being made or sent, over all its keys; then 429. A tenant with a single one may always have it.",
    parse: (text) => parseCount(text, 1),
  },
  replyBytesTotal: {
    env: "SHEAF_REPLY_BYTES_TOTAL",
    flag: { name: "reply-bytes-total", operand: "bytes" },
    default: String(4 * GIB),
    doc: "The same for all tenants; then 503. So much disk can be in use in the folder `spool` of the data folder, where replies over 1 MiB wait to be read.",
    parse: (text) => parseCount(text, 1),
  },
  replySeconds: {
    env: "SHEAF_REPLY_SECONDS",
    flag: { name: "reply-seconds", operand: "seconds" },
    default: "3600",
    doc: "Time to send one reply. A connection that takes longer is closed.",
    parse: (text) => parseCount(text, 1, MOST_SECONDS),
  },
  receiverBytesPerSecond: {
    env: "SHEAF_RECEIVER_BYTES_PER_SECOND",
    flag: { name: "receiver-bytes-per-second", operand: "bytes" },
    default: String(16 * 1024),
    doc: "How fast a client must read its reply. The connection of a slower one is closed; 0 for any speed.",
    parse: (text) => parseCount(text),
  },
  receiverSeconds: {
    env: "SHEAF_RECEIVER_SECONDS",
    flag: { name: "receiver-seconds", operand: "seconds" },
    default: "30",
    doc: "Seconds over which that speed is measured.",
    parse: (text) => parseCount(text, 1, MOST_SECONDS),
  },
};

/** For an app that is made without settings. */
export const DEFAULT_REPLY_SETTINGS = Object.fromEntries(
  Object.entries(REPLY_SETTINGS).map(([name, { default: text }]) => [name, Number(text)]),
) as { readonly [name in keyof ReplySettings]: number };
