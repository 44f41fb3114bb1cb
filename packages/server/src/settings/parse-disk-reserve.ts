/** The text of `--disk-reserve`: bytes, or a share of the disk. */
import type { DiskReserve } from "@sheaf/engine";
import { SettingError } from "./setting-error.ts";

const PERCENT = /^\d{1,2}(?:\.\d{1,3})?%$/;
const BYTES = /^\d{1,16}$/;

export function parseDiskReserve(text: string): DiskReserve {
  if (isPercent(text)) return text;
  const bytes = Number(text);
  if (!BYTES.test(text) || !Number.isSafeInteger(bytes)) {
    throw new SettingError("must be bytes, or a share of the disk such as 10%");
  }
  return bytes;
}

function isPercent(text: string): text is `${number}%` {
  return PERCENT.test(text);
}
