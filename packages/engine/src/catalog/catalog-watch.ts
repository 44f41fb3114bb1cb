/** Tells of a catalog that other servers change: asks for its state all the time, and says whether that is another one. */
import type { CatalogNews } from "../storage/catalog/catalog-news.ts";
import { UpkeepRounds } from "../upkeep-rounds.ts";

/** A state of the catalog, as a gateway hears of it. */
export interface CatalogReport extends Pick<CatalogNews, "ageMs" | "isAway"> {
  /** It may be another one than that of the report before. */
  readonly isChanged: boolean;
}

/** One row of one table, from each server. With the pause of a slow answer, changes are known well within a second. */
const PAUSE_MS = 300;

/** @param read Never rejects. */
export function watchCatalog(
  read: () => Promise<CatalogNews>,
  tell: (report: CatalogReport) => void,
): UpkeepRounds {
  let known: number | null = null;
  return new UpkeepRounds(0, async () => {
    const { state, ...rest } = await read();
    tell({ isChanged: state !== known, ...rest });
    known = state;
    return PAUSE_MS;
  });
}
