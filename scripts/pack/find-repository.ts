/** Where the sources are published. */
import { spawnSync } from "node:child_process";
import { ROOT } from "./published-manifest.ts";

/** @param given Wins over the remote `origin` of the clone. Gives `null` where neither is an address of the web. */
export function findRepository(given: string | undefined): string | null {
  const origin = spawnSync("git", ["remote", "get-url", "origin"], { cwd: ROOT, encoding: "utf8" });
  const address = given ?? (origin.status === 0 ? origin.stdout.trim() : "");
  const https = address.replace(/^git@([^:]+):/u, "https://$1/").replace(/^git\+/u, "");
  return https.startsWith("https://") && URL.canParse(https) ? https : null;
}
