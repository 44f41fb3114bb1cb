/** What reads of partitions hold where they are put together: questions on their way, and what was found. */
import { ByteBudget, type ByteLease } from "@sheaf/protocol";

const MIB = 1024 * 1024;

const budget = new ByteBudget({
  what: "what partitions are asked and have found",
  perTenant: 128 * MIB,
  whole: 512 * MIB,
});

/** Throws 429 and 503 over the budget. */
export function chargeFound(tenant: string, bytes: number): ByteLease {
  return budget.charge(tenant, bytes);
}
