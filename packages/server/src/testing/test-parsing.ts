/** What an HTTP app of a test reads bodies with, and a route's view of any body: its member `new_name`. */
import { ByteBudget } from "@sheaf/protocol";
import { BodyTurns } from "../bodies/body-turns.ts";
import { BodyWorkers } from "../bodies/body-workers.ts";
import type { Call } from "../http/route.ts";
import { SlowReceivers } from "../http/slow-receivers.ts";
import { StageClock } from "../metrics/stage-clock.ts";
import { DEFAULT_REPLY_SETTINGS } from "../settings/reply-settings.ts";
import { FairTurns } from "../request/fair-turns.ts";

export function testParsing() {
  const clock = new StageClock(() => {});
  return {
    clock,
    workers: new BodyWorkers(),
    parseTurns: new FairTurns(1),
    turns: new BodyTurns(Infinity),
    receivers: new SlowReceivers({ ...DEFAULT_REPLY_SETTINGS, onCut: () => {} }),
    bodies: new ByteBudget({ what: "request bodies", perTenant: Infinity, whole: Infinity }),
  };
}

/** The body as JSON. */
export async function textOf(call: Call): Promise<string> {
  return JSON.stringify(await call.parse("updateCollection"));
}
