/** Before the plans of a group are made: what they look at is asked for together. */
import type { PlanNeeds } from "../../record-store.ts";
import type { AskedRecords } from "../log-view.ts";
import { MOST_LEARNT_BYTES, TooMuchLearnt } from "./learnt-records.ts";

/** Of the ids that the plans of one group look at, but for its first plan. */
const MOST_IDS = 4_096;
/** Of the records that several plans look at. */
const GROUP_BYTES = 32 * 1024 * 1024;

export interface NeedyPlan {
  /** Left out: of a store that has all records. */
  readonly needs?: (() => readonly PlanNeeds[]) | undefined;
}

/**
 * How many of the first plans can be made now: at least one.
 *
 * @param pull Has the view follow the log to this sequence number.
 */
export async function learnForPlans(
  asked: AskedRecords,
  plans: readonly NeedyPlan[],
  pull: (until: number) => Promise<void>,
): Promise<number> {
  const needs: (readonly PlanNeeds[])[] = [];
  let ids = 0;
  for (const plan of plans) {
    const own = plan.needs?.() ?? [];
    ids += own.reduce((sum, need) => sum + need.ids.length, 0);
    if (needs.length > 0 && ids > MOST_IDS) break;
    needs.push(own);
  }
  let count = needs.length;
  const learn = (): Promise<number> =>
    asked.learn(needs.slice(0, count).flat(), count === 1 ? MOST_LEARNT_BYTES : GROUP_BYTES);
  const until = await learn().catch((error: unknown) => {
    if (!(error instanceof TooMuchLearnt) || count === 1) throw error;
    count = 1;
    return learn();
  });
  await pull(until);
  asked.requireSame();
  return count;
}
