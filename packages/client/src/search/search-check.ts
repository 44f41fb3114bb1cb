/** What a check says of searches. */

export interface Finding {
  /** The place in the body: `searches[0].rank.$knn.limit`. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

export interface CheckedLeaf {
  readonly path: string;
  readonly key: string;
  readonly kind: "dense" | "sparse";
  readonly limit: number;
  readonly indexed: boolean;
  /** Would embed the text; `null` for a vector. */
  readonly model: string | null;
}

export interface CheckedSearch {
  readonly leaves: readonly CheckedLeaf[];
  readonly page: { readonly offset: number; readonly limit: number | null };
}

export interface SearchCheck {
  /** What the searches would be refused for. */
  readonly problems: readonly Finding[];
  /** What would most likely not do what it was meant to. */
  readonly warnings: readonly Finding[];
  /** One for each search; `null` for one with problems. */
  readonly plans: readonly (CheckedSearch | null)[];
}
