/** Queries under metadata filters that were never asked before: each is of another value, and a server knows none of them. */
import { FIRST_YEAR, KINDS, PRICES, YEARS } from "../../search/workload/record-content.ts";
import { K, type Queries } from "../../search/workload/ground-truth.ts";
import { json, queryVector } from "../../search/workload/requests.ts";

export class NewFilters {
  readonly #queries: Queries;
  /** Of filters made so far. */
  #made = 0;

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  /** The first ones are of one key each, so that those asked first of a server are the first of their key. */
  bodies(count: number): Buffer[] {
    return Array.from({ length: count }, () => {
      const number = this.#made++;
      const query = number % this.#queries.queries;
      const where = SHAPES[number % SHAPES.length]!(number);
      return json({
        query_embeddings: [queryVector(this.#queries, query)],
        n_results: K,
        where,
        include: ["distances"],
      });
    });
  }
}

/** Every one keeps at least some hundredths of the rows, and takes part of the number into itself. */
const SHAPES: readonly ((number: number) => object)[] = [
  (number) => ({ year: { $gte: FIRST_YEAR + (number % YEARS) - 1 / (2 + number) } }),
  (number) => ({ category: { $in: [`c${number % KINDS}`, `c${(number + 7) % KINDS}`, `new ${number}`] } }),
  (number) => ({ price: { $lt: PRICES / 20 + number / 7 } }),
  (number) => ({ shelf: { $in: [`s${number % KINDS}`, `s${(number + 3) % KINDS}`, `new ${number}`] } }),
  (number) => priceBetween(number, number + PRICES / 10),
  (number) => ({
    $or: [{ year: FIRST_YEAR + (number % YEARS) }, { price: { $gte: PRICES - PRICES / 20 - number / 7 } }],
  }),
  (number) => ({ $and: [{ category: { $ne: `c${number % KINDS}` } }, { price: { $gte: number / 3 } }] }),
];

function priceBetween(low: number, high: number): object {
  return { $and: [{ price: { $gte: low } }, { price: { $lt: high } }] };
}
