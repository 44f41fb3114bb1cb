/** Tells the data folders of servers on one database apart; a folder that was lost and made again is another one. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { DataFolder } from "./data-folder.ts";
import { writeDurably } from "./write-durably.ts";

const IDENTITY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Made the first time, and again where the file is damaged. */
export function cacheIdentity({ cacheFile }: DataFolder): string {
  const known = existsSync(cacheFile) ? readFileSync(cacheFile, "utf8").trim() : "";
  if (IDENTITY.test(known)) return known;
  const identity = randomUUID();
  writeDurably(cacheFile, `${identity}\n`);
  return identity;
}
