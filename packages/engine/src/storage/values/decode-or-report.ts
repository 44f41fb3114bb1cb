/** A record that a scan comes to, or none where it is damaged and whoever scans has been told. */
import { CorruptDataError } from "../corrupt-data-error.ts";
import type { OnDamage } from "../record-store.ts";
import type { StoredRecord } from "../stored-record.ts";
import { type Decoding, decodeRecord } from "./value-codec.ts";

/** `null`: it could not be read, and `onDamage` was told. */
export function decodeOrReport(
  value: Uint8Array | null,
  offset: number,
  decoding: Decoding,
  onDamage: OnDamage | undefined,
): StoredRecord | null {
  try {
    if (value === null) throw new CorruptDataError(decoding.origin, 0, "is listed and cannot be found");
    return decodeRecord(value, offset, decoding);
  } catch (error) {
    if (onDamage === undefined || !(error instanceof CorruptDataError)) throw error;
    onDamage(offset, error);
    return null;
  }
}
