/** Explains the searches of one call, one after the other, as each is done. Those that did not ask cost nothing. */
import type { Explained, Search, SearchRequest } from "@sheaf/protocol";
import type { CollectionIndex } from "../../index/collection-index.ts";
import type { SearchStages } from "../search.ts";
import type { StageTimes } from "../stage-times.ts";
import { explained, namedRecords, tracePage } from "./explain-search.ts";
import { type PageTraces, TraceBudget } from "./traces.ts";
import type { NamedRecord, WhyNotReading } from "./why-not.ts";

type Milliseconds = Readonly<Record<string, number>>;

export class Explanations {
  readonly #times: StageTimes;
  readonly #reading: WhyNotReading;
  readonly #named: readonly (readonly NamedRecord[] | null)[];
  readonly #budget = new TraceBudget();
  /** What each stage had taken when the last search was done. */
  #before: Milliseconds;
  /** One per search that is done; `null` for those that did not ask. */
  readonly all: (Explained | null)[] = [];

  /** To be made before the read waits. */
  constructor(
    { searches }: SearchRequest,
    { index, times }: { readonly index: CollectionIndex; readonly times: StageTimes },
    reading: WhyNotReading,
  ) {
    this.#times = times;
    this.#reading = reading;
    this.#named = searches.map((search) => namedRecords(search, index, reading.view.snapshot));
    this.#before = { ...times.report().stages };
  }

  /** Of the records on the page of a search; `null`: there is nothing to trace. */
  traces(search: Search, stages: SearchStages): Promise<PageTraces | null> {
    return tracePage(search, stages, this.#reading, this.#budget);
  }

  /** Once the search and its first records are done. */
  async add(search: Search, stages: SearchStages): Promise<void> {
    const milliseconds = this.#taken();
    if (search.explain === undefined) this.all.push(null);
    else {
      const named = this.#named[this.all.length] ?? null;
      this.all.push(await explained(search, stages, named, { ...this.#reading, milliseconds }));
    }
    this.#before = { ...this.#times.report().stages };
  }

  #taken(): Milliseconds {
    const taken: Record<string, number> = {};
    for (const [stage, total] of Object.entries(this.#times.report().stages)) {
      const milliseconds = total - (this.#before[stage] ?? 0);
      if (milliseconds > 0) taken[stage] = Math.round(milliseconds * 1_000) / 1_000;
    }
    return taken;
  }
}
