/** Closes dropped collections and removes their files; what they leave in shared environments goes behind. */
import { namesOf } from "../../storage/folder/partition-name.ts";
import type { DataFolder } from "../../storage/folder/data-folder.ts";
import type { CollectionLogs } from "../logged/collection-logs.ts";
import type { CollectionOpener } from "../collection-opener.ts";
import type { CollectionPool } from "../collection-pool.ts";
import type { DeleteBehind } from "./delete-behind.ts";
import type { TenantBudgets } from "../tenant-quotas.ts";

export interface DiscardingParts {
  readonly pool: Pick<CollectionPool, "drop">;
  readonly budgets: Pick<TenantBudgets, "remove">;
  readonly folder: DataFolder;
  readonly logs: Pick<CollectionLogs, "drop"> | null;
  readonly opener: Pick<CollectionOpener, "damaged">;
  readonly deleteBehind: Pick<DeleteBehind, "start">;
  readonly onProblem: (error: unknown, collection: string) => void;
}

/** Gone from the catalog; files that stay go at the next start. Writes under way are still counted, so that ends last. */
export async function discardCollections(
  ids: readonly string[],
  { pool, budgets, folder, logs, opener, deleteBehind, onProblem }: DiscardingParts,
): Promise<void> {
  for (const id of ids) {
    try {
      await pool.drop(id);
      for (const name of namesOf(id)) opener.damaged.remove(name);
      await budgets.remove(id);
      await folder.dropCollection(id);
      await logs?.drop(id);
    } catch (error) {
      onProblem(error, id);
    }
  }
  if (ids.length > 0) deleteBehind.start();
}
