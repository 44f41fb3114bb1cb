/** Explains the searches of one call, one after the other, as each is done. Those that did not ask cost nothing. */
import type { Explained, Search, SearchRequest } from "@sheaf/protocol";
import type { CollectionIndex } from "../../index/collection-index.ts";
import type { SearchStages } from "../search.ts";
import type { StageTimes } from "../stage-times.ts";
import { explained, namedRecords, tracePage } from "./explain-search.ts";
import { StageLaps } from "./stage-laps.ts";
import { type PageTraces, TraceBudget } from "./traces.ts";
import type { NamedRecord, WhyNotReading } from "./why-not.ts";

export class Explanations {
  readonly #laps: StageLaps;
  readonly #reading: WhyNotReading;
  readonly #named: readonly (readonly NamedRecord[] | null)[];
  readonly #budget = new TraceBudget();
  /** One per search that is done; `null` for those that did not ask. */
  readonly all: (Explained | null)[] = [];

  /** To be made before the read waits. */
  constructor(
    { searches }: SearchRequest,
    { index, times }: { readonly index: CollectionIndex; readonly times: StageTimes },
    reading: WhyNotReading,
  ) {
    this.#laps = new StageLaps(times);
    this.#reading = reading;
    this.#named = searches.map((search) => namedRecords(search, index, reading.view.snapshot));
  }

  /** Of the records on the page of a search; `null`: there is nothing to trace. */
  traces(search: Search, stages: SearchStages): Promise<PageTraces | null> {
    return tracePage(search, stages, this.#reading, this.#budget);
  }

  /** Once the search and its first records are done. */
  async add(search: Search, stages: SearchStages): Promise<void> {
    const milliseconds = this.#laps.lap();
    if (search.explain === undefined) this.all.push(null);
    else {
      const named = this.#named[this.all.length] ?? null;
      this.all.push(await explained(search, stages, named, { ...this.#reading, milliseconds }));
    }
    this.#laps.restart();
  }
}
