/** The settings of how records are stored. Part of the table in `config.ts`. */
import { SHARE_LIMITS, type ShareLimits } from "@sheaf/engine";
import type { Setting } from "../config.ts";
import { parseSwitch } from "./parse-switch.ts";

export interface StoreSettings {
  /** What collections hold that share environments; `null`: none is made or moved there from now on. */
  readonly shareStores: ShareLimits | null;
}

export const STORE_SETTINGS: { readonly [name in keyof StoreSettings]: Setting<StoreSettings[name]> } = {
  shareStores: {
    env: "SHEAF_SHARED_STORES",
    flag: null,
    default: "on",
    doc: "Small collections (2,000 records, 4 MiB) share files, and those with files of their own move there while nobody uses them. Builds without shared files refuse the data folder from then on. off: new collections have files of their own, and none is moved. Two numbers (20/65536) set the records and bytes, and a third one the milliseconds from the start until collections move, for tests.",
    parse: parseShareLimits,
  },
};

function parseShareLimits(text: string): ShareLimits | null {
  const numbers = /^([1-9]\d{0,5})\/([1-9]\d{0,8})(?:\/([1-9]\d{0,5}))?$/u.exec(text);
  if (numbers !== null) {
    const [, records, bytes, joinAfterMs] = numbers;
    const limits = { records: Number(records), bytes: Number(bytes) };
    return joinAfterMs === undefined ? limits : { ...limits, joinAfterMs: Number(joinAfterMs) };
  }
  return parseSwitch(text, "on, off, or numbers of records and bytes such as 20/65536") ? SHARE_LIMITS : null;
}
