/** How much somebody keeps, and whether more of it fits. */
import { SheafError } from "@sheaf/protocol";
import type { StoreChange } from "./record-store.ts";
import { LOOKED_AT_PER_STEP } from "./steps.ts";

export interface Usage {
  readonly records: number;
  readonly bytes: number;
}

export const NO_USAGE: Usage = Object.freeze({ records: 0, bytes: 0 });

export function sumOf(one: Usage, other: Usage): Usage {
  return { records: one.records + other.records, bytes: one.bytes + other.bytes };
}

/** `most`: 0 is no bound. What does not grow always fits. */
export function fits(more: Usage, kept: Usage, most: Usage): boolean {
  const names = ["records", "bytes"] as const;
  return names.every((name) => most[name] === 0 || more[name] <= 0 || kept[name] + more[name] <= most[name]);
}

/** 422, unless `more` fits beside what is `kept`. */
export function excess(more: Usage, kept: Usage, most: Usage): SheafError | null {
  if (!fits({ ...more, bytes: 0 }, kept, most))
    return exceeded(`the limit of this tenant is ${most.records} record${most.records === 1 ? "" : "s"}`);
  if (fits(more, kept, most)) return null;
  return exceeded(
    `the limit of this tenant is ${most.bytes} bytes; it keeps ${kept.bytes}, and ${more.bytes} more do not fit`,
  );
}

/** Throws `excess`. */
export function requireFits(...usage: Parameters<typeof excess>): void {
  const error = excess(...usage);
  if (error !== null) throw error;
}

/** Whether there is any bound. */
export function isBounded(most: Usage): boolean {
  return most.records !== 0 || most.bytes !== 0;
}

/** Records that a change adds to a store whose next record would have this offset; below 0: more are removed. */
export function* addedRecords({ puts, removes }: StoreChange, nextOffset: number): Generator<void, number> {
  let added = -removes.length;
  for (let i = 0; i < puts.length; i++) {
    if (puts[i]!.offset >= nextOffset) added += 1;
    if (i % LOOKED_AT_PER_STEP === LOOKED_AT_PER_STEP - 1) yield;
  }
  return added;
}

function exceeded(what: string): SheafError {
  return new SheafError("unprocessable", `Quota exceeded: ${what}`);
}
