/** A collection may be open before its records are on this disk: until then writes wait, and so does what goes on behind the calls. */
import type { LoggedRecordStore } from "../../storage/log/logged-record-store.ts";

type Logged = Pick<LoggedRecordStore, "warming"> | undefined;

/** Its records and its index are not on this machine yet. */
export function isCold(logged: Logged): boolean {
  return logged?.warming?.isCold === true;
}

/** `undefined`: it is; whoever does not wait then keeps its place among the calls. Rejects with 503 where it takes long. */
export function whenWarm(logged: Logged): Promise<void> | undefined {
  return isCold(logged) ? logged!.warming!.whenWarm() : undefined;
}

export function onWarm(logged: Logged, work: () => void): void {
  const warming = logged?.warming ?? null;
  if (warming === null) work();
  else warming.onWarm(work);
}
