/**
 * What estimates take of a query, made for the first segment that asks and copied for the others: the segments of an
 * index are rotated alike.
 */
import type { Rotation } from "./rotation.ts";
import { type TableScale, buildTable } from "./sign-code.ts";

export class QueryCodes {
  readonly #vector: Float32Array;
  #rotated: Float32Array | null = null;
  #table: { readonly entries: Uint8Array; readonly scale: TableScale } | null = null;

  /** `vector`: the query as segments take it. */
  constructor(vector: Float32Array) {
    this.#vector = vector;
  }

  /** Leaves the rotated query in the rotation's vector. */
  rotate(rotation: Rotation): void {
    if (this.#rotated !== null) {
      rotation.vector.set(this.#rotated);
      return;
    }
    rotation.vector.fill(0);
    rotation.vector.set(this.#vector);
    rotation.run();
    this.#rotated = rotation.vector.slice();
  }

  /** `buildTable` of a query that was rotated. */
  fillTable(table: Uint8Array): TableScale {
    if (this.#table !== null) table.set(this.#table.entries);
    else {
      const scale = buildTable(this.#rotated!, table);
      this.#table = { entries: table.slice(), scale };
    }
    return this.#table.scale;
  }
}
