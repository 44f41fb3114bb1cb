/** Settings that are one whole number; the environment variable follows from the flag. */
import type { Setting } from "../config.ts";
import { parseCount } from "./parse-count.ts";

export interface CountSetting {
  /** Unit or `number`, for the help. */
  readonly operand: string;
  readonly initial: number;
  readonly doc: string;
  /** 0 unless it says otherwise. */
  readonly least?: number;
  readonly most?: number;
}

export function countSetting(
  flag: string,
  { operand, initial, doc, least, most }: CountSetting,
): Setting<number> {
  return {
    env: `SHEAF_${flag.toUpperCase().replaceAll("-", "_")}`,
    flag: { name: flag, operand },
    default: String(initial),
    doc,
    parse: (text) => parseCount(text, least, most),
  };
}
