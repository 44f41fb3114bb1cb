/** Paths inside the data folder of the environments that small collections share. */
import { join, sep } from "node:path";
import { SHARED_ENVIRONMENTS } from "../new-store-id.ts";

/** Of the one that a store with this id, a UUID, may have a share of. */
export function sharedName(id: string): string {
  return nameOf(Number.parseInt(id.slice(0, 2), 16) % SHARED_ENVIRONMENTS);
}

/** Whether a path inside the data folder is one of these. */
export function isSharedName(name: string): boolean {
  return name.startsWith(`shared${sep}`);
}

/** Of all that there may be. */
export function sharedNames(): readonly string[] {
  return Array.from({ length: SHARED_ENVIRONMENTS }, (_, number) => nameOf(number));
}

function nameOf(number: number): string {
  return join("shared", number.toString(16).padStart(2, "0"));
}
