/** Hands on what the engine reports of a catalog that other servers change, from before there is anybody to hear of it. */
import type { CatalogReport } from "@sheaf/engine";

export class CatalogFeed {
  #listener: (report: CatalogReport) => void = () => {};

  readonly tell = (report: CatalogReport): void => this.#listener(report);

  /** One at most. */
  listen(listener: (report: CatalogReport) => void): void {
    this.#listener = listener;
  }
}
