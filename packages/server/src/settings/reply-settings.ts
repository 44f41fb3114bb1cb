/** The settings that bound replies: how long they may be, and how slowly they may be read. Part of the table in `config.ts`. */
import type { Setting } from "../config.ts";
import { countSetting } from "./count-setting.ts";

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
  replyBytes: countSetting("reply-bytes", {
    operand: "bytes",
    initial: GIB,
    doc: "Size of one reply with records. A longer one is answered with 413, which names `limit`.",
    least: 1,
  }),
  replyBytesPerTenant: countSetting("reply-bytes-per-tenant", {
    operand: "bytes",
    initial: GIB,
    doc: "Size of all such replies of a tenant that are being made or sent, over all its keys; then 429. A tenant with a single one may always have it.",
    least: 1,
  }),
  replyBytesTotal: countSetting("reply-bytes-total", {
    operand: "bytes",
    initial: 4 * GIB,
    doc: "The same for all tenants, and an eighth more for tenants with at most 1/64 of it; then 503. So much disk can be in use in the folder `spool` of the data folder, where replies over 1 MiB wait to be read.",
    least: 1,
  }),
  replySeconds: countSetting("reply-seconds", {
    operand: "seconds",
    initial: 3600,
    doc: "Time to send one reply. A connection that takes longer is closed.",
    least: 1,
    most: MOST_SECONDS,
  }),
  receiverBytesPerSecond: countSetting("receiver-bytes-per-second", {
    operand: "bytes",
    initial: 16 * 1024,
    doc: "How fast a client must read its reply. The connection of a slower one is closed; 0 for any speed.",
  }),
  receiverSeconds: countSetting("receiver-seconds", {
    operand: "seconds",
    initial: 30,
    doc: "Seconds over which that speed is measured.",
    least: 1,
    most: MOST_SECONDS,
  }),
};

/** For an app that is made without settings. */
export const DEFAULT_REPLY_SETTINGS = Object.fromEntries(
  Object.entries(REPLY_SETTINGS).map(([name, { default: text }]) => [name, Number(text)]),
) as { readonly [name in keyof ReplySettings]: number };
