/** Of a backup that may be damaged, what a restore goes on without. */
import { SheafError } from "@sheaf/protocol";
import { type Damage, concernsAll, lacking, whatToDo } from "./verify-backup.ts";

export interface SoundCollections {
  /** Why a collection is left out; `null`: its records are whole. */
  reasonWithout(id: string): string | null;
  /** Its index is whole, too. */
  hasIndex(id: string): boolean;
  /** Damage that the restore has nothing to do with. */
  readonly elsewhere: readonly string[];
}

/** @param wanted `tenant`: the only one to be restored, `null`: all. Throws `failed_precondition` for damage to what is wanted, but for collections that may be left out. */
export function soundCollections(
  damages: readonly Damage[],
  { tenant, skipDamaged }: { readonly tenant: string | null; readonly skipDamaged: boolean },
): SoundCollections {
  const isWanted = ({ of, isUnread }: Damage): boolean =>
    isUnread !== true && (of === null || tenant === null || of.tenant === tenant);
  const wanted = damages.filter((damage) => isWanted(damage));
  const refused = wanted.filter((damage) => concernsAll(damage) || !skipDamaged);
  const first = refused.find((damage) => concernsAll(damage)) ?? refused[0];
  if (first !== undefined) {
    const more = refused.length > 1 ? ` and ${refused.length - 1} more` : "";
    throw new SheafError(
      "failed_precondition",
      `the backup is damaged, so nothing was restored: ${first.problem}${more}. What to do: ${whatToDo(wanted)}`,
    );
  }
  const reasons = new Map<string, string>();
  const indexes = new Set<string>();
  for (const { of, problem, isIndex } of wanted) {
    if (of === null) continue;
    if (isIndex) indexes.add(of.id);
    else reasons.set(of.id, lacking(of, problem));
  }
  return {
    reasonWithout: (id) => reasons.get(id) ?? null,
    hasIndex: (id) => !indexes.has(id),
    elsewhere: damages.filter((damage) => !isWanted(damage)).map(({ problem }) => problem),
  };
}
