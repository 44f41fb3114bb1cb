/** The settings of how records are stored. Part of the table in `config.ts`. */
import { SHARE_LIMITS, type ShareLimits } from "@sheaf/engine";
import type { Setting } from "../config.ts";
import { parseSwitch } from "./parse-switch.ts";

export interface StoreSettings {
  /** What collections hold that share environments; `null`: none that is made from now on shares one. */
  readonly shareStores: ShareLimits | null;
}

export const STORE_SETTINGS: { readonly [name in keyof StoreSettings]: Setting<StoreSettings[name]> } = {
  shareStores: {
    env: "SHEAF_SHARED_STORES",
    flag: null,
    default: "off",
    doc: "Experimental. Has new collections share files while they are small (2,000 records, 4 MiB), for servers with many of them; others stay as they are. Builds before this one refuse the data folder from then on. Two numbers (20/65536) set the records and bytes, for tests.",
    parse: parseShareLimits,
  },
};

function parseShareLimits(text: string): ShareLimits | null {
  const numbers = /^([1-9]\d{0,5})\/([1-9]\d{0,8})$/u.exec(text);
  if (numbers !== null) return { records: Number(numbers[1]), bytes: Number(numbers[2]) };
  return parseSwitch(text, "on, off, or two numbers of records and bytes such as 20/65536")
    ? SHARE_LIMITS
    : null;
}
