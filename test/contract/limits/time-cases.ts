/** Bounds of time, with seconds instead of minutes, and of files that no request brings. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LimitName } from "@sheaf/protocol";
import { readModelJson } from "../../../packages/inference/src/graph/model-file.ts";
import {
  DEFAULT_DEADLINE_SECONDS,
  type DeadlineSeconds,
  RequestContext,
} from "../../../packages/server/src/request/request-context.ts";
import { type CaseOf, type Outcome, bySize, called } from "./limit-case.ts";

const SOON_SECONDS = 0.05;
const LATE_SECONDS = 60;
const MS_PER_SECOND = 1_000;

export const TIME_CASES = {
  requestSeconds: (value) => ({
    at: () =>
      worked({ request: LATE_SECONDS, bulk: LATE_SECONDS }, 1, value === DEFAULT_DEADLINE_SECONDS.request),
    over: () => worked({ request: SOON_SECONDS, bulk: LATE_SECONDS }, 1),
    says: /longer than 0\.05 seconds/u,
  }),
  bulkRequestSeconds: (value) => ({
    at: () =>
      worked({ request: SOON_SECONDS, bulk: LATE_SECONDS }, 65, value === DEFAULT_DEADLINE_SECONDS.bulk),
    over: () => worked({ request: SOON_SECONDS / 2, bulk: SOON_SECONDS }, 65),
    says: /longer than 0\.05 seconds/u,
  }),
  // At the bound a request has the shorter time, over it the longer one.
  bulkTexts: (value) => ({
    at: () => worked({ request: LATE_SECONDS, bulk: SOON_SECONDS }, value),
    over: () => worked({ request: SOON_SECONDS, bulk: LATE_SECONDS }, value + 1),
    says: /$/u,
  }),
  modelHeaderBytes: bySize(async (_bench, size) => {
    const folder = await mkdtemp(join(tmpdir(), "sheaf-limits-"));
    const file = join(folder, "config.json");
    await writeFile(file, `{}${" ".repeat(size - 2)}`);
    const outcome = await called(() => readModelJson(file));
    await rm(folder, { recursive: true });
    return outcome;
  }, /config\.json: \d+ bytes, the limit is/u),
} satisfies { readonly [name in LimitName]?: CaseOf };

/** Work of so many texts that takes longer than `SOON_SECONDS`. */
async function worked(seconds: DeadlineSeconds, texts: number, isDefault = true): Promise<Outcome> {
  if (!isDefault) throw new Error("the server takes another time than the table says");
  const deadline = new RequestContext(seconds);
  return called(() =>
    deadline.run(async () => {
      deadline.expectTexts(texts);
      await sleep(4 * SOON_SECONDS * MS_PER_SECOND);
    }),
  );
}
